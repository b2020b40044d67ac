"""Tests of `tidemill.engine.sources`."""
