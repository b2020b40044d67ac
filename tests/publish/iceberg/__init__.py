"""Tests of the Iceberg target."""
