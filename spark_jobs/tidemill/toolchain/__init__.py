"""Java, the jars that Spark does not ship, and Spark's settings."""
