"""What commands tell of a pipeline's past."""
