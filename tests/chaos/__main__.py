"""`make chaos`: faults at every system call of steps, or a crash campaign of whole runs.

Without a seed every call of the steps after ingest is made to fail, or one of them: see
`tests.faults`. With a seed ten pipelines run and are killed, one history for each seed; with
`--airflow` DAGs run, and Airflow's own processes are killed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tests.chaos.airflow_campaign import main as play_airflow
from tests.chaos.blow import HistoryEnded, summary
from tests.chaos.broker_absences import BROKER
from tests.chaos.campaign_history import KINDS, CampaignHistory
from tests.faults.__main__ import main as play_calls
from tests.faults.library import FAULTS, NoCompiler, built
from tests.servers.kafka import Broker
from tests.servers.postgres import Postgres

# In memory where there is one: a history writes and deletes many thousand files.
MEMORY = Path("/dev/shm")


def main() -> int:
    if "--airflow" in sys.argv:
        return play_airflow(sys.argv[1:])
    if "--seed" not in sys.argv:
        return play_calls()
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="of the first history")
    parser.add_argument(
        "--kills",
        type=int,
        default=1,
        help="play the next seeds too until so many pipelines were killed",
    )
    parser.add_argument("--kind", choices=KINDS, action="append", help="only blows of this kind")
    given = parser.parse_args()
    try:
        built(FAULTS)
    except NoCompiler as reason:
        print(reason, file=sys.stderr)
        return 2
    kinds = given.kind or KINDS
    began, ended = time.monotonic(), list[HistoryEnded]()
    seed = given.seed
    with Postgres() as postgres, _broker(kinds) as broker:
        while sum(_blows(history, kinds) for history in ended) < given.kills:
            ended.append(play(seed, postgres, kinds, broker))
            seed += 1
    for line in summary(ended):
        print(line)
    print(f"  {time.monotonic() - began:.0f} s")
    return 1 if any(history.problems for history in ended) else 0


def play(
    seed: int, postgres: Postgres, kinds: Collection[str], broker: Broker | None
) -> HistoryEnded:
    """Play the history of a seed; its folder stays if something was wrong."""
    where = MEMORY if os.access(MEMORY, os.W_OK) else None
    home = Path(tempfile.mkdtemp(prefix=f"tidemill-chaos-{seed}-", dir=where))
    with CampaignHistory(home / "history", seed, _tell, postgres, kinds, broker) as history:
        ended = history.play()
    print(
        f"seed {seed}: {ended.kills} pipelines killed, {len(ended.problems)} wrong, "
        f"{ended.seconds:.0f} s",
        flush=True,
    )
    if ended.problems:
        print(f"  see {home}; again: make chaos SEED={seed}{_kind(kinds)}", flush=True)
    else:
        shutil.rmtree(home)
    return ended


def _broker(kinds: Collection[str]) -> AbstractContextManager[Broker | None]:
    return Broker() if BROKER in kinds else nullcontext()


def _blows(history: HistoryEnded, kinds: Collection[str]) -> int:
    """Those that count towards `--kills`: of one kind all that it has."""
    return history.kills if "kill" in kinds else len(history.blows)


def _kind(kinds: Collection[str]) -> str:
    return "" if len(kinds) > 1 else f" KIND={next(iter(kinds))}"


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
