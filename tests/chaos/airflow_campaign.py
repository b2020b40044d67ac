"""`make chaos AIRFLOW=1 SEED=1 KILLS=100`: histories of DAG runs, one for each seed."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.chaos.airflow_history import AirflowEnded, AirflowHistory
from tests.servers.postgres import Postgres


def main(arguments: Sequence[str]) -> int:
    """Play the next seeds too until so many processes were killed."""
    parser = argparse.ArgumentParser(prog="make chaos AIRFLOW=1", description=__doc__)
    parser.add_argument("--airflow", action="store_true")
    parser.add_argument("--seed", type=int, required=True, help="of the first history")
    parser.add_argument("--kills", type=int, default=1)
    given = parser.parse_args(arguments)
    ended = list[AirflowEnded]()
    with Postgres() as postgres:
        while sum(len(history.kills) for history in ended) < given.kills:
            ended.append(_play(given.seed + len(ended), postgres))
    for line in summary(ended):
        print(line)
    return 1 if any(history.problems for history in ended) else 0


def _play(seed: int, postgres: Postgres) -> AirflowEnded:
    """Play the history of a seed; its folder stays if something was wrong."""
    home = Path(tempfile.mkdtemp(prefix=f"tidemill-chaos-airflow-{seed}-"))
    with AirflowHistory(home / "history", seed, _tell, postgres) as history:
        ended = history.play()
    _tell(
        f"seed {seed}: {len(ended.kills)} kills, {len(ended.problems)} wrong, {ended.seconds:.0f} s"
    )
    if ended.problems:
        _tell(f"  see {home}; again: make chaos AIRFLOW=1 SEED={seed}")
    else:
        shutil.rmtree(home)
    return ended


def summary(histories: Iterable[AirflowEnded]) -> Iterator[str]:
    """Lines that count the kills of some histories."""
    every = [*histories]
    kills = [one for history in every for one in history.kills]
    looks = sum((history.looks for history in every), Counter[str]())
    yield f"{len(kills)} kills in {len(every)} histories"
    yield _counted("by process", (one.victim for one in kills))
    yield _counted("by step", (one.step for one in kills))
    yield _counted("looks of the reader", looks.elements())
    yield f"  aimed at a point that never came: {sum(one.missed for one in every)}"
    yield f"  steps that asked for a person: {sum(one.refused for one in every)}"
    yield f"  wrong: {sum(len(one.problems) for one in every)}"


def _counted(title: str, values: Iterable[str]) -> str:
    counts = sorted(Counter(values).items())
    return f"  {title}: " + ", ".join(f"{value} {number}" for value, number in counts)


def _tell(line: str) -> None:
    print(line, flush=True)
