"""What the commands of upkeep share: their options, the pipelines they are for, their output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from tidemill.cli.completion import pipelines
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Quantity, Screen
from tidemill.cli.zones import time_shown, zone_of
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.contract.remedy import more_about
from tidemill.spec.catalog import SpecFile, find, spec_files
from tidemill.spec.root import existing_root

if TYPE_CHECKING:
    from tidemill.steps.upkeep.upkeep import Tidying, Upkept

Name = Annotated[
    str | None,
    Argument(metavar="[NAME]", help="The pipeline.", show_default=False, autocompletion=pipelines),
]
Every = Annotated[bool, Option("--all", help="Every pipeline that has run.")]
Apply = Annotated[bool, Option("--apply", help="Do it; otherwise it is only shown.")]

COLUMNS = ("pipeline", "command", "kind", "count", "files", "bytes", "oldest")
# Leftover.kind -> what a person calls several of them.
WORDS = {
    "removal": "half removed folders",
    "orphan": "orphan files",
    "scratch": "scratch generations",
    "checkpoint": "ended checkpoints",
    "snapshot": "snapshots",
    "replaced": "replaced files",
    "run": "runs",
    "lease": "leases",
    "notice": "notices",
    "stream": "ended queries",
    "draft": "drafts",
    "small": "sets of small files",
    "entry": "entries of Delta logs",
}


def chosen(name: str | None, every: bool) -> list[SpecFile]:
    """The pipelines that a person chose, as `chosen_of` several names."""
    return chosen_of(() if name is None else (name,), every)


def chosen_of(names: Sequence[str], every: bool) -> list[SpecFile]:
    """The pipelines that a person chose, each once.

    Raises:
        UsageError: neither or both of a pipeline and --all were given, or there is no such
            pipeline, or no root.
    """
    root = existing_root()
    if bool(names) is every:
        raise UsageError(
            "Either a pipeline or --all is needed.", remedy="Give one of them.", names=names
        )
    if names:
        return [find(name) for name in dict.fromkeys(names)]
    return [one for one in spec_files() if (root / one.name).is_dir()]


def tidy_up(
    chosen: Iterable[SpecFile],
    commands: Mapping[str, Tidying],
    screen: Screen,
    *,
    apply: bool,
    utc: bool,
) -> None:
    """Run commands of upkeep, and show what they found or did."""
    from tidemill.steps.upkeep.upkeep import upkeep

    run_id = manual_run_id("upkeep")
    found = list(upkeep(chosen, commands, run_id, screen.problem, apply=apply))
    code = max((one.exit_code for one in found), default=int(ExitCode.DONE))
    if screen.as_json:
        screen.document(
            {
                "applied": apply,
                "exit_code": code,
                "pipelines": [one.model_dump(mode="json") for one in found],
            }
        )
        raise Exit(code)
    screen.table("", COLUMNS, (line for one in found for line in _lines(one, utc)))
    for one in found:
        if one.error is not None:
            text = f"{one.pipeline}: {one.error['code']}: {one.error['what']} {one.error['remedy']}"
            screen.problem(f"{text}{more_about(one.error)}")
    if not apply and any(one.leftovers for one in found):
        screen.line("nothing was changed: --apply does it")
    raise Exit(code)


def _lines(one: Upkept, utc: bool) -> Iterable[tuple[object, ...]]:
    zone = zone_of(one.pipeline, utc)
    for of in one.leftovers:
        yield (
            one.pipeline,
            one.command,
            WORDS[of.kind],
            Quantity(of.count),
            Quantity(of.files),
            Quantity(of.bytes),
            time_shown(of.oldest, zone),
        )
