"""How anything is written under the root: once, whole, durably, and by one writer."""
