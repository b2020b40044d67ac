"""The shipped pipelines as DAGs that one Airflow runs now; prints how each task ended, as JSON.

Those of one time zone share a DAG, so that they cost one JVM between them. Each task opens the
pipeline by its name, so that what runs are the shipped specs as they are. A DAG that is not in a
group runs as it is shipped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG

from spark_jobs.contract.load import load_spec
from spark_jobs.contract.project import REPOSITORY, Project
from spark_jobs.contract.spec import Airflow
from tidemill.dag import build_group
from tidemill.group import Member
from tidemill.metadata import prepare


def main(names: Sequence[str]) -> None:
    prepare()
    ended = {}
    for dag in _dags(names):
        run = dag.test()
        tasks = {task.task_id: str(task.state) for task in run.get_task_instances()}
        ended[dag.dag_id] = {"state": str(run.state), "tasks": tasks}
    sys.stdout.write(f"\n{json.dumps(ended)}\n")


def _dags(names: Sequence[str]) -> Iterator[DAG]:
    members = [_member(name) for name in names]
    for zone, some in groupby(sorted(members, key=_zone), _zone):
        together = list(some)
        if len(together) > 1:
            yield build_group(f"shipped_{zone.replace('/', '_')}", together, taken=names)
        else:
            yield DagBag(str(REPOSITORY / "dags" / "pipelines.py")).dags[together[0].name]


def _member(name: str) -> Member:
    path = Project(REPOSITORY).spec(name)
    # What the members of a group agree in is nothing that a step looks at.
    agreed = {"group": "shipped", "schedule": None, "airflow": Airflow()}
    return Member(name, load_spec(path).model_copy(update=agreed), path)


def _zone(member: Member) -> str:
    return member.spec.timezone


if __name__ == "__main__":
    main(sys.argv[1:])
