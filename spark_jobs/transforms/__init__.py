"""The transforms of the pipelines: pure functions from DataFrame to DataFrame, one file each."""
