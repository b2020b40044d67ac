"""Tests of `tidemill.toolchain`."""
