"""Tests of the steps that a run is made of."""
