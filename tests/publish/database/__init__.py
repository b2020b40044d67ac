"""Tests of `tidemill.publish.database`."""
