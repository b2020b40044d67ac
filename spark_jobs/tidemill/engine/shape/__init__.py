"""What a transform's plan looks like, kept to be compared with tomorrow's."""
