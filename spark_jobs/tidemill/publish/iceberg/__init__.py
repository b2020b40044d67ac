"""Publishes the sink's Parquet files into a table of an Apache Iceberg catalogue."""
