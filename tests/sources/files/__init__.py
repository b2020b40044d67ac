"""Tests of `tidemill.sources.files`."""
