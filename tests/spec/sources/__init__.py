"""Tests of `tidemill.spec.sources`."""
