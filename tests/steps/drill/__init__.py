"""Tests of the fault drill."""
