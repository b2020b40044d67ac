"""Tests of `tidemill.storage`."""
