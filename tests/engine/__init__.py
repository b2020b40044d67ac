"""Tests of `tidemill.engine`."""
