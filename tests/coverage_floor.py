"""Print the share of lines that tests have run, by package; a package below its floor is an error.

It reads what `pytest --cov` has left. `make coverage` runs both.
"""

from __future__ import annotations

import sys
from collections import Counter

from coverage import Coverage

from tidemill.contract.project import REPOSITORY

SOURCES = (REPOSITORY / "spark_jobs" / "tidemill", REPOSITORY / "plugins" / "tidemill_airflow")
# Percent: half a percent less than was measured, rounded down. These packages need no JVM, and
# neither do their tests.
FLOORS = {
    "tidemill.compatibility": 78,
    "tidemill.contract": 95,
    "tidemill.file_formats": 96,
    "tidemill.generations": 93,
    "tidemill.increments": 97,
    "tidemill.journal": 98,
    "tidemill.ledger": 95,
    "tidemill.reporting": 98,
    "tidemill.sources": 79,
    "tidemill.spark_logs": 87,
    "tidemill.spec": 97,
    "tidemill.storage": 96,
    "tidemill.toolchain": 70,
}


def main() -> int:
    coverage = Coverage()
    coverage.load()
    lines = Counter[str]()
    run = Counter[str]()
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            _, statements, _, missing, _ = coverage.analysis2(str(path))
            name = ".".join(path.relative_to(source.parent).with_suffix("").parts[:2])
            lines[name] += len(statements)
            run[name] += len(statements) - len(missing)

    low = []
    print(f"{'package':28} {'lines':>6} {'run':>7} {'floor':>6}")
    for name, count in sorted(lines.items()):
        if not count:
            continue
        share, floor = 100 * run[name] / count, FLOORS.get(name)
        print(f"{name:28} {count:6} {share:6.1f}% {f'{floor}%' if floor else '':>6}")
        if floor is not None and share < floor:
            low.append(name)
    print(f"{'all':28} {lines.total():6} {100 * run.total() / lines.total():6.1f}%")
    if low:
        print(f"Below their floor: {', '.join(low)}. Add tests for them.", file=sys.stderr)
    gone = sorted(FLOORS.keys() - lines.keys())
    if gone:
        print(
            f"Packages with a floor and without code: {', '.join(gone)}. "
            "Name them in tests/coverage_floor.py as they are called now.",
            file=sys.stderr,
        )
    return 1 if low or gone else 0


if __name__ == "__main__":
    raise SystemExit(main())
