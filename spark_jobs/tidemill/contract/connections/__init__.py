"""Airflow's connections, as the clients of each kind of server take them."""
