"""Tests of what the plugin takes from Airflow's private parts."""
