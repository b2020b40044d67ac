"""Targets of your own, one class a file; these two are examples to copy."""
