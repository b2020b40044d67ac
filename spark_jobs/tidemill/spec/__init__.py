"""The YAML of a pipeline as one frozen model: its parts, loading, cross checks, JSON Schema."""
