"""The four step functions that Airflow and the `tidemill` command call alike."""
