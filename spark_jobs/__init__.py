"""The steps of a pipeline: doctor, ingest, gate and publish."""
