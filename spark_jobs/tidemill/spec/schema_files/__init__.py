"""Schemas that a spec names as files: DDL, Avro, JSON Schema and Spark's own JSON."""
