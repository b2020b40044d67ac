"""`tidemill drill`: runs of a pipeline's copy are killed, and must publish the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import randrange
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from tidemill.cli.screen import Csv, Json, PipelineName, Screen
from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode

if TYPE_CHECKING:
    from tidemill.steps.read_only.drill.drill import Comparison
    from tidemill.steps.read_only.drill.killed_run import Kill
    from tidemill.steps.read_only.drill.scratch_copy import ScratchCopy

Into = Annotated[
    Path | None,
    Option(
        "--into",
        metavar="FOLDER",
        help="An empty folder for the copy, which stays there.",
        show_default="a temporary one, which stays if the tables differ",
    ),
]
Files = Annotated[
    int | None,
    Option("--files", min=1, help="Input files of each source, oldest first.", show_default="all"),
]
Kills = Annotated[int, Option("--kills", min=1, help="How often a step is killed.")]
Seed = Annotated[
    int | None,
    Option("--seed", min=0, help="Chooses the moments.", show_default="another one each time"),
]
Limit = Annotated[int, Option("--limit", min=1, help="Most rows of a difference to show.")]
# How many seeds a drill without one chooses from.
SEEDS = 10_000


def drill(
    name: PipelineName,
    kills: Kills = 3,
    seed: Seed = None,
    files: Files = None,
    into: Into = None,
    limit: Limit = 20,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Kill runs of a pipeline's copy, and show that it publishes the same rows; needs Spark.

    The copy has roots and links to input files of its own, and runs on this machine: once without
    kills, once with SIGKILLs at chosen moments, each followed by a retry and no repair. The real
    root, input, targets and topics stay untouched. Ends with exit code 1 where the tables differ.

    Examples:
      tidemill drill tides
      tidemill drill tides --files 10 --kills 6 --seed 7
    """
    from tidemill.spec.pipeline import open_pipeline
    from tidemill.steps.read_only.drill.drill import drill as kill_and_compare
    from tidemill.steps.read_only.drill.scratch_copy import make_copy

    screen, pipeline = Screen(json, csv), open_pipeline(name)
    seed = randrange(SEEDS) if seed is None else seed  # noqa: S311 - kills, no secrets
    copy = make_copy(pipeline, into, files)
    folder = copy.folder
    read = counted(sum(map(len, copy.files.values())), "input file")
    screen.line(f"a copy of {name} with {read} is in {folder}; the seed is {seed}")
    for field in copy.left_out:
        screen.line(f"left out: {field}")
    with screen.busy("drill …"):
        found, tables = kill_and_compare(
            copy, kills, seed, limit, screen.line, lambda kill: screen.line(_of_kill(kill, kills))
        )
    equal = all(one.equal for one in tables)
    if equal and into is None:
        copy.remove()
    if json:
        document = _document(found, tables)
        stays = folder.exists()
        more = {
            "folder": folder if stays else None,
            "roots": copy.roots if stays else None,
            "left_out": copy.left_out,
        }
        screen.document({"pipeline": name, "seed": seed, "equal": equal, **document, **more})
    else:
        _show(screen, tables, copy)
    raise Exit(int(ExitCode.DONE if equal else ExitCode.FAILED))


def _of_kill(kill: Kill, kills: int) -> str:
    what = "killed" if kill.done else "ended before its moment,"
    at = f", at {kill.at}" if kill.at else ""
    there = ", ".join(
        (
            counted(kill.files, "file"),
            counted(kill.batches, "batch", "batches"),
            counted(kill.increments, "increment"),
            counted(kill.events, "event"),
        )
    )
    return (
        f"kill {kill.number} of {kills}, seed {kill.seed}: {kill.step} {what} after "
        f"{kill.seconds:.1f} s{at}; there: {there}"
    )


def _document(kills: Sequence[Kill], tables: Sequence[Comparison]) -> dict[str, Any]:
    shown = [
        {
            "table": one.table,
            "rows": one.rows,
            "equal": one.equal,
            "missing": one.apart.removed,
            "too_many": one.apart.added,
            "differences": list(one.apart.rows),
        }
        for one in tables
    ]
    return {"kills": [asdict(kill) for kill in kills], "tables": shown}


def _show(screen: Screen, tables: Sequence[Comparison], copy: ScratchCopy) -> None:
    for one in tables:
        rows = counted(one.rows, "row")
        screen.line(
            f"equal: {one.table}, {rows}"
            if one.equal
            else f"DIFFERENT: {one.table}, {rows} without kills; with them "
            f"{one.apart.removed:,} missing, {one.apart.added:,} too many"
        )
    differing = [one for one in tables if not one.equal]
    if differing or screen.as_csv:
        columns = tuple(dict.fromkeys(name for one in differing for name in one.apart.columns))
        rows_apart = ((one.table, row) for one in differing for row in one.apart.rows)
        screen.table(
            "",
            ("table", "change", *columns),
            (
                (table, row["change"], *(row.get(name) for name in columns))
                for table, row in rows_apart
            ),
        )
    if differing:
        screen.line(f"The copy stays in {copy.folder}, with both runs in {copy.roots}.")
