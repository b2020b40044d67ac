"""Tests that users write beside their pipelines: given rows, expected rows."""
