"""The shipped pipelines, run as a user runs them."""
