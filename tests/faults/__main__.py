"""A fault at every system call of the steps after ingest, and of repairs.

One line for each that ends other than it should, with the command that plays it again.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.bucket_stage import BucketStage, faulty_s3
from tests.faults.cases import CASES, CASES_IN_BUCKET
from tests.faults.faulty_store import StoreFault
from tests.faults.library import FAULTS, Fault, NoCompiler, built
from tests.faults.point import Stage

KINDS = {
    fault.title: fault
    for fault in Fault
    if fault not in (Fault.COUNT, Fault.KILL_AFTER, Fault.READ_ONLY, Fault.STOP, Fault.CLOCK)
}
STORE_KINDS = {fault.title: fault for fault in StoreFault if fault is not StoreFault.COUNT}
AnyFault = Fault | StoreFault
# In memory where there is one: a point writes and deletes some hundred files.
MEMORY = Path("/dev/shm")
SEED = 11
NAMED = {**CASES, **CASES_IN_BUCKET}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--case", choices=NAMED, help="only this one")
    parser.add_argument("--fault", help="only this kind of fault")
    parser.add_argument("--point", type=int, help="only the call of this number, from 1")
    parser.add_argument("--sample", type=int, help="so many calls of each case, not all")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument(
        "--bucket", action="store_true", help="with the root in an S3 server, whose writes fail"
    )
    given = parser.parse_args()
    given.kinds = STORE_KINDS if given.bucket else KINDS
    if given.fault not in (None, *given.kinds):
        parser.error(f"--fault is one of {', '.join(given.kinds)}")
    if not given.bucket:
        try:
            _preload()
        except NoCompiler as reason:
            print(reason, file=sys.stderr)
            return 2
    began = time.monotonic()
    found = Counter[str]()
    with ExitStack() as stack:
        where = MEMORY if os.access(MEMORY, os.W_OK) else None
        home = Path(stack.enter_context(TemporaryDirectory(prefix="tidemill-chaos-", dir=where)))
        store = stack.enter_context(faulty_s3()) if given.bucket else None
        names = CASES_IN_BUCKET if given.bucket else CASES
        for name in [given.case] if given.case else names:
            case = NAMED[name]
            stage = BucketStage(home, case, *store) if store else Stage(home, case)
            found += _play(name, stage, given)
    wrong = found.pop("wrong", 0)
    seed = f", seed {given.seed}" if given.sample else ""
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(found.items()))
    print(
        f"{found.total()} faults ({kinds}){seed}: {wrong} wrong; {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong or not found else 0


def _preload() -> None:
    """Start this program again, with the library under it."""
    if os.environ.get("LD_PRELOAD") != str(built(FAULTS)):
        os.environ["LD_PRELOAD"] = str(built(FAULTS))
        command = [sys.executable, "-m", "tests.faults", *sys.argv[1:]]
        os.execv(sys.executable, command)  # noqa: S606 - there is nothing for a shell to do


def _play(name: str, stage: Stage, given: argparse.Namespace) -> Counter[str]:
    """How many faults of each kind there were, and how many went wrong."""
    found = Counter[str]()
    print(f"{name}: {len(stage.unharmed.calls)} calls", flush=True)
    for fault, numbers in _points(name, stage.unharmed.calls, given).items():
        began, wrong = time.monotonic(), found["wrong"]
        for number in numbers:
            found += _play_one(name, stage, fault, number, aloud=bool(given.point))
        print(
            f"  {fault.title}: {found[fault.title]} faults, {found['wrong'] - wrong} wrong, "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
    return found


def _play_one(
    name: str, stage: Stage, fault: AnyFault, number: int, *, aloud: bool
) -> Counter[str]:
    point = stage.play(number, fault)
    if point.call is None:
        return Counter()
    if point.problems:
        bucket = "BUCKET=1 " if isinstance(fault, StoreFault) else ""
        print(f"  make chaos {bucket}CASE={name} FAULT={fault.title} POINT={number}: {point.call}")
        for problem in point.problems:
            print(f"    {problem}", flush=True)
    elif aloud:
        print(f"  {fault.title} at {point.call}: {point.ended}, and all is well after it")
    return Counter({fault.title: 1, "wrong": int(bool(point.problems))})


def _points(
    name: str, calls: Sequence[str], given: argparse.Namespace
) -> dict[AnyFault, Sequence[int]]:
    """The numbers of the calls that each kind of fault is to hit."""
    numbers = [given.point] if given.point else [*range(1, len(calls) + 1)]
    every = [
        (fault, number)
        for fault in ([given.kinds[given.fault]] if given.fault else given.kinds.values())
        for number in numbers
        if given.point or can_hit(fault, calls[number - 1])
    ]
    if given.sample:
        # Spread evenly over all, from a place that the seed chooses.
        step = len(every) / given.sample
        first = random.Random(f"{given.seed} {name}").random() * step
        every = [every[int(first + place * step)] for place in range(given.sample)]
    chosen: dict[AnyFault, list[int]] = {}
    for fault, number in every:
        chosen.setdefault(fault, []).append(number)
    return {**chosen}


def can_hit(fault: AnyFault, call: str) -> bool:
    """Whether a fault changes how a call ends."""
    if fault is Fault.TEAR:
        # Anything but a write is not torn: it is as with `kill`.
        return call.startswith(("write ", "pwrite "))
    if fault in (Fault.FULL, Fault.FULL_ONCE):
        return not call.startswith(("unlink ", "rmdir "))
    return True


if __name__ == "__main__":
    sys.exit(main())
