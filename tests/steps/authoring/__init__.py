"""Tests of `tidemill.steps.authoring`."""
