"""Repairs of Spark's logs after a power cut, from what the ledger knows."""
