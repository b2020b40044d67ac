"""The shipped pipelines as DAGs, and one run of each of these DAGs.

Those of one time zone are a group, so that they cost one JVM between them; what is left alone is
the DAG that is shipped. Every task opens its pipeline by name: what runs are the specs as they are.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG

from tidemill.contract.project import REPOSITORY, Project
from tidemill.spec.airflow_settings import Airflow
from tidemill.spec.load import load_spec
from tidemill_airflow.dag import build_dag, build_group
from tidemill_airflow.local.metadata import prepare
from tidemill_airflow.operators.group import Member


def dags(names: Sequence[str]) -> Iterator[DAG]:
    """The DAGs of some pipelines."""
    zones: dict[str, list[Member]] = defaultdict(list)
    for name in names:
        path = Project(REPOSITORY).spec(name)
        spec = load_spec(path)
        zones[spec.timezone].append(Member(name, spec, path))
    for members in zones.values():
        if len(members) > 1:
            yield build_group("shipped", [_in_a_group(member) for member in members])
        else:
            yield build_dag(members[0].name, members[0].spec, members[0].path)


def _in_a_group(member: Member) -> Member:
    """With what the members of a group agree in, and no step looks at."""
    agreed = {"group": "shipped", "schedule": None, "airflow": Airflow()}
    return Member(member.name, member.spec.model_copy(update=agreed), member.path)


def run_all(ended: Path) -> None:
    """Run every DAG of the DAGs folder once, and write down how it and its tasks ended."""
    prepare()
    found = {}
    for dag in DagBag().dags.values():
        run = dag.test()
        tasks = {task.task_id: str(task.state) for task in run.get_task_instances()}
        found[dag.dag_id] = {"state": str(run.state), "tasks": tasks}
    ended.write_text(json.dumps(found))


if __name__ == "__main__":
    run_all(Path(sys.argv[1]))
