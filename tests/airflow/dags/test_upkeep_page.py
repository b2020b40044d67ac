"""The DAG on the page about upkeep: Airflow takes it, and its command tidies up."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from airflow.sdk import DAG

from tests.support.histories.history_builder import History, rows
from tests.support.histories.left_behind import age
from tidemill.contract.project import REPOSITORY

PAGE = REPOSITORY / "docs" / "operations" / "upkeep.md"


def test_the_dag_of_the_page_tidies_up(history: History, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "upkeep.py"
    file.write_text(code)
    dag: DAG = runpy.run_path(str(file))["dag"]
    (task,) = dag.tasks
    history.increment(rows(1))
    history.publish()
    dead = history.sink / "day=2024-01-01" / "part-00000-dead.parquet"
    dead.write_bytes(b"PAR1")
    age(dead)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", task.bash_command],
        env={**os.environ, **history.environ, "PATH": path},
        check=False,
    )
    assert ended.returncode == 0
    assert not dead.exists()
    assert history.ids() == [1]
