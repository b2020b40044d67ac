"""The steps that Airflow and the `tidemill` command call alike."""
