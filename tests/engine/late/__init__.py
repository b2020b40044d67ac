"""Tests of `tidemill.engine.late`."""
