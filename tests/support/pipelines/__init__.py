"""Pipelines to run in a test, each in a temporary folder of its own."""
