"""Erase: rows of persons leave a pipeline for good, with all that is below its folder."""
