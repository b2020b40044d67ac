"""Tests of `tidemill.generations`."""
