"""Tests of `tidemill.engine.run`."""
