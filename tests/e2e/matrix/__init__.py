"""The feature table: every row is a test."""
