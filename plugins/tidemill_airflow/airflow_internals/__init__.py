"""The private parts of Airflow and of its Spark provider: no other module imports or touches one.

Public is what Airflow's page "Public Interface of Airflow" and the reference of `airflow.sdk` name;
of an operator or a hook of a provider, the page says that only its parameters and behaviour are.
Everything besides is private, and a minor version may change it. Each module declares what it
relies on, which a test holds against the installed versions:

- `CALLS`: `module:name` of what is called or overridden -> its arguments, those that are passed by
  name with a `=` at their end.
- `ATTRIBUTES`: `module:name` of what is read or set, or imported to be one of a base class.
"""
