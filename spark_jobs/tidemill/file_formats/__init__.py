"""What is in a Parquet, ORC, Avro or text file or in a Delta table, read without a JVM."""
