"""What a power cut leaves of Spark's logs, mended from what the ledger knows."""
