"""Names of Delta tables in a Hive metastore."""
