"""Says once what is wrong with several rows of one template."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tidemill.contract.counted import counted
from tidemill.steps.read_only.checks.problem import Problem

# As `spec.origins` and `Places.problem` begin what holds for one row.
_ROW = re.compile(r"row (?P<row>.+?) of each: (?P<what>.+)", re.DOTALL)
# More rows than these are counted.
NAMED = 3


def folded(problems: Iterable[Problem]) -> list[Problem]:
    """Problems with those in one that differ in the row of `each` alone, where the first stood."""
    rows: dict[Problem, list[str]] = {}
    for one in problems:
        found = _ROW.fullmatch(one.what)
        if found is None:
            rows.setdefault(one, [])
        else:
            rows.setdefault(replace(one, what=found["what"]), []).append(found["row"])
    return [replace(one, what=_told(names) + one.what) for one, names in rows.items()]


def _told(rows: list[str]) -> str:
    if len(rows) < 2:
        return "".join(f"row {row} of each: " for row in rows)
    first, rest = rows[:NAMED], rows[NAMED:]
    if rest:
        return f"rows {', '.join(first)} and {counted(len(rest), 'other')} of each: "
    return f"rows {', '.join(first[:-1])} and {first[-1]} of each: "
