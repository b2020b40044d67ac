"""Seeded generators of sample input, one per shipped pipeline."""
