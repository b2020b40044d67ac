"""What a change of a repository means for each pipeline, told before it is merged."""
