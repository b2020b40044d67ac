"""Tests of `tidemill.increments`."""
