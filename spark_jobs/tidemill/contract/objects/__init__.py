"""Paths in an object store, and the client that reads and writes what is there."""
