"""Tests of `tidemill.compatibility`."""
