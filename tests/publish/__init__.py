"""Tests of `tidemill.publish`, over histories that are written by hand."""
