"""Tests of the example targets, and of the kit that tries a target of a project."""
