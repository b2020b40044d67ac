"""Tests of `tidemill.cli.project`."""
