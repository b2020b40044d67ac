"""Another pipeline's table as a source."""
