"""What a person asks for: release, reject, redo, fork, backfill, rebuild, repairs."""
