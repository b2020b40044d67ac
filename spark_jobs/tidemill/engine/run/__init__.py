"""One query from its start to its end."""
