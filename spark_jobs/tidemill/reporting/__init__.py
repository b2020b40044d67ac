"""What people ask: where a pipeline stands, where a file went, SQL over tables."""
