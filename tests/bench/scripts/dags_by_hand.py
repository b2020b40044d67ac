"""Builds as many DAGs with as many tasks as Tidemill has: two for each of some feeds."""

import sys

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, chain

TASKS = ("doctor", "ingest", "gate", "publish")
found = []
for number in range(int(sys.argv[1])):
    for name, schedule in ((f"feed_{number:04d}", "@hourly"), (f"decide_{number:04d}", None)):
        with DAG(name, schedule=schedule, default_args={"owner": "airflow"}) as dag:
            chain(*(SparkSubmitOperator(task_id=task, application="step.py") for task in TASKS))
        found.append(dag)
