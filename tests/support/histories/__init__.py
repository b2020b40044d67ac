"""Pasts of a pipeline, written as Spark and the steps would have written them, without a JVM."""
