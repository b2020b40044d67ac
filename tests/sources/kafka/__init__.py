"""Tests of `tidemill.sources.kafka`."""
