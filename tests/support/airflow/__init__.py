"""A running Airflow, and doubles of what a task talks to."""
