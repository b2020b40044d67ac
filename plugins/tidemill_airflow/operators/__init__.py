"""Operators, and how a step is started as a process of its own."""
