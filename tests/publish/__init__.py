"""Tests of publishing, over histories that are written by hand."""
