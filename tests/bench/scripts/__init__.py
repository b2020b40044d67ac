"""What people write today: each script is complete and knows nothing of ours."""
