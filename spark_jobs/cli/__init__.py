"""The console script `tidemill`: it asks and shows, and has no logic of its own."""

from spark_jobs.cli.app import main

__all__ = ["main"]
