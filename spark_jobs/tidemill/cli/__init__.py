"""The console script `tidemill`: it asks and shows, and has no logic of its own."""

from tidemill.cli.app import main

__all__ = ["main"]
