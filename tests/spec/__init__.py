"""Tests of `tidemill.spec`."""
