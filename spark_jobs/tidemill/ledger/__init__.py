"""The record of what was committed, sealed and published, read and written without a JVM."""
