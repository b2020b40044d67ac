"""Tests of `tidemill.journal`."""
