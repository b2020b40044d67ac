"""The Delta target: one commit per event."""
