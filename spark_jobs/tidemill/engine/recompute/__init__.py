"""Rows of the past computed again: which partitions, from which input, by which job."""
