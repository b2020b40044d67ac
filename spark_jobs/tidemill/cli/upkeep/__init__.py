"""The commands of upkeep."""
