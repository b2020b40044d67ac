"""Tests of `tidemill.publish.delta`."""
