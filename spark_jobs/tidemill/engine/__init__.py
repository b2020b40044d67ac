"""The Spark side: session, sources, ingest and sinks."""
