"""File formats in a spec: one module each, and a table of them in `table`."""
