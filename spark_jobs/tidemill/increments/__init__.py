"""Sealed increments, the verdicts on them, and what people decided."""
