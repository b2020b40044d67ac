"""The private parts of Great Expectations: no other module imports or touches one.

Public is what Great Expectations marks with its `public_api`, of which its reference is made, what
its top level exports, and the settings of a project. Everything besides is private, and a minor
version may change it. Each module declares what it relies on, which a test holds against the
installed version:

- `CALLS`: `module:name` of what is called or overridden -> its arguments, those that are passed by
  name with a `=` at their end.
- `ATTRIBUTES`: `module:name` of what is read or set, or imported to be one of a base class.
"""
