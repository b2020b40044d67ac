"""Tests of `tidemill.engine.shape`."""
