"""Great Expectations judging one sealed increment."""
