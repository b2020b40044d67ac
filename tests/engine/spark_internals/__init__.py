"""Tests of the Spark side that need no JVM."""
