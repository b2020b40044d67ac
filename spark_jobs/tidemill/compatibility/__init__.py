"""What a change of spec or code means for a checkpoint."""
