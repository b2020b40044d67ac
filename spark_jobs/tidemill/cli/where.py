"""`tidemill where`: which batch a file came into or out of, and what became of it."""

from datetime import tzinfo
from typing import Annotated

from typer import Argument

from tidemill.cli.screen import Json, Screen
from tidemill.cli.status import state_of
from tidemill.cli.zones import Utc, zone_of
from tidemill.reporting.file_origin import Origin, origins
from tidemill.spec.root import existing_root

File = Annotated[
    str,
    Argument(
        metavar="FILE",
        help="An input file, or a file of a published table: a path, the end of one, or a URI.",
        show_default=False,
    ),
]


def where(file: File, utc: Utc = False, json: Json = False) -> None:
    """Tell the pipeline, batch, run, increment and verdict of an input or table file.

    Examples:
      tidemill where 2026-03-01.csv
      tidemill where part-00000-1f2e.snappy.parquet --json
    """
    screen = Screen(json)
    found = origins(existing_root(), file)
    if json:
        screen.document([origin.model_dump(mode="json") for origin in found])
        return
    for origin in found:
        screen.line(str(origin.file))
        for label, value in _facts(origin, zone_of(origin.pipeline, utc)):
            screen.line(f"  {label:<10} {value}")


def _facts(origin: Origin, zone: tzinfo) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = [
        ("pipeline", origin.pipeline),
        ("batch", f"{origin.batch} of {origin.generation}"),
        ("run", origin.run_id),
    ]
    if origin.rows is not None:
        kind = "rejected rows" if origin.rejected else "rows"
        facts.append(("holds", f"{origin.rows:,} {kind}"))
    if origin.role == "input" and origin.now != origin.file:
        facts.append(("is now", origin.now or "nowhere, or it is another file"))
    if origin.increment is None:
        return [*facts, ("increment", "none yet: the gate has not sealed this batch")]
    increment = origin.increment
    facts.append(("increment", f"{increment.increment:06d}, {state_of(increment, zone)}"))
    if increment.version is not None and origin.in_table is False:
        facts.append(("table", "no longer in it: what was published later took its place"))
    facts.append(("verdict", increment.verdict or "none yet"))
    facts.extend(("reason", reason) for reason in increment.reasons)
    return facts
