"""Tests of `tidemill.file_formats`."""
