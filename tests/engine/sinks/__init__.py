"""Tests of `tidemill.engine.sinks`."""
