"""Tests of what the gate takes from Great Expectations' private parts."""
