"""Tests of `tidemill.steps.parts`."""
