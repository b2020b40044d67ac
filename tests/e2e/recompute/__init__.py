"""Rows computed again: backfill, redo, fork, rebuild, replay."""
