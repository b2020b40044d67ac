"""What several steps are made of."""
