"""Tests of `tidemill.engine.recompute`."""
