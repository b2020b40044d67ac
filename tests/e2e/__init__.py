"""Whole runs, with real Spark and real kills."""
