"""Table sources: what another pipeline's published table has added, and what it has changed."""
