"""An Airflow on one machine: `make demo`, `make up`, the compose file's settings."""
