"""Writes files of a user's project: a project, a pipeline from a sample, a suite from rows."""
