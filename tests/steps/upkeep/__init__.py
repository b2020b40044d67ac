"""Tests of `tidemill.steps.decisions`."""
