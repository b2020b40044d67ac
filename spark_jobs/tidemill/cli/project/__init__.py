"""Commands that write a user's project: `init`, `new` and `suite infer`."""
