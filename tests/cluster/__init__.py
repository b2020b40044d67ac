"""Pipelines on a real standalone cluster: a master and two workers as processes."""
