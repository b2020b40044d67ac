"""Tests of `tidemill.sources`."""
