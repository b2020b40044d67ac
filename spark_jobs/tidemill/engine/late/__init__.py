"""Late rows: which operators pass over them, and how many there were."""
