"""Drivers that are killed at a point of Spark's protocol, and what they leave."""
