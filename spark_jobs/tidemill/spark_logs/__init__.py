"""Spark's checkpoint logs and the file sink's log, read without a JVM."""
