"""What waits at a source, and what Spark would pass over there; no JVM."""
