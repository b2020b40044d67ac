"""What DAGs are built of: tasks, forms, notices, the page of a DAG, decisions, arrivals."""
