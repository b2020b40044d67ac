"""What crosses between Airflow and Spark: errors, report, folders, project, users' modules."""
