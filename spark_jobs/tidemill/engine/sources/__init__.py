"""A source as a DataFrame: live, or what a committed batch read once more."""
