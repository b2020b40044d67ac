"""The ordered list of what goes out, and which generation took over from which."""
