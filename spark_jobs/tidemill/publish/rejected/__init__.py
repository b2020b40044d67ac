"""The table of rejected rows."""
