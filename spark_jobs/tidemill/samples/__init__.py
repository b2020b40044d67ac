"""Seeded generators of sample input for the shipped pipelines."""
