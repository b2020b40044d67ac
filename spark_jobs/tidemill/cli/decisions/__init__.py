"""The commands by which a person decides or repairs."""
