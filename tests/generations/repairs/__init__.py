"""Tests of `tidemill.generations.repairs`."""
