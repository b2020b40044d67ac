"""Incremental batch pipelines: Spark streams whose output is judged before anybody reads it."""
