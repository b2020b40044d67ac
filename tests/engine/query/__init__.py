"""Tests of `tidemill.engine.query`."""
