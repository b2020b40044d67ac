"""Upkeep: commands that tidy up a pipeline. Each plans first, and works under the lease."""
