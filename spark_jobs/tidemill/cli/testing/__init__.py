"""The commands that put a pipeline to the test."""
