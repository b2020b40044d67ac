"""Tests of `tidemill.publish.rejected`."""
