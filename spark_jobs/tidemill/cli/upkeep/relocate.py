"""`tidemill relocate`: a root that was moved, and copies of pipelines below another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from tidemill.cli.completion import pipelines
from tidemill.cli.run import manual_run_id
from tidemill.cli.screen import Json, Screen
from tidemill.cli.upkeep.options import Apply, Every, chosen_of
from tidemill.contract.counted import bytes_in_words, counted
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.root import ROOT, root

if TYPE_CHECKING:
    from tidemill.steps.decisions.copy_pipelines import CopyPlan
    from tidemill.steps.decisions.relocate import RelocationPlan

Names = Annotated[
    list[str] | None,
    Argument(
        metavar="[NAME]...", help="The pipelines.", show_default=False, autocompletion=pipelines
    ),
]
CopyTo = Annotated[
    str | None,
    Option("--copy-to", metavar="ROOT", help="Copy them below another root, and relocate these."),
]


def relocate(
    names: Names = None,
    every: Every = False,
    apply: Apply = False,
    copy_to: CopyTo = None,
    json: Json = False,
) -> None:
    """Rewrite the absolute paths of a root that was moved; shown first, and done with --apply.

    Move the folder or the objects, set TIDEMILL_ROOT to where they are now, and relocate its
    pipelines. With --copy-to nothing is moved: they are copied below another root for a test.

    Examples:
      tidemill relocate --all
      tidemill relocate --all --apply
      tidemill relocate tides --copy-to /srv/tidemill-test --apply
    """
    screen = Screen(json)
    chosen = [open_pipeline(one.name) for one in chosen_of(names or (), every)]
    if copy_to is None:
        found = [_moved(screen, one, apply=apply) for one in chosen]
    else:
        found = _copied(screen, chosen, _place(copy_to), apply=apply)
    if not apply and any(one["needed"] for one in found):
        screen.line("nothing was written: --apply does it")
    if json:
        screen.document({"applied": apply, "pipelines": found})


def _place(given: str) -> Path:
    """A folder as it is given, or a root in an object store."""
    return root({ROOT: given}) if "://" in given else Path(given).absolute()


def _moved(screen: Screen, pipeline: Pipeline, *, apply: bool) -> dict[str, Any]:
    from tidemill.steps.decisions.relocate import plan_relocation, relocate

    plan = relocate(pipeline, manual_run_id("relocate")) if apply else plan_relocation(pipeline)
    if not plan.needed:
        screen.line(f"{pipeline.name}: every path leads to {plan.home} already")
    else:
        done = "rewritten" if apply else "to rewrite"
        screen.line(
            f"{pipeline.name}: from {plan.origin} to {plan.home}: {_counts(plan)} {done}"
            + (", to finish what was begun" if plan.unfinished else "")
        )
    return _document(pipeline, plan)


def _copied(
    screen: Screen, chosen: Sequence[Pipeline], to: Path, *, apply: bool
) -> list[dict[str, Any]]:
    from tidemill.steps.decisions.copy_pipelines import copy_pipelines, plan_copies

    if not apply:
        plans = plan_copies(chosen, to)
        for plan in plans:
            screen.line(f"would copy {_size(plan)}")
        return [_document_of_copy(plan) for plan in plans]
    documents = []
    for plan, rewritten in copy_pipelines(chosen, to, manual_run_id("copy")):
        screen.line(f"copied {_size(plan)}; {_counts(rewritten)} rewritten")
        documents.append({**_document(plan.pipeline, rewritten), **_document_of_copy(plan)})
    return documents


def _counts(plan: RelocationPlan) -> str:
    entries = counted(len(plan.entries), "log entry", "log entries")
    return f"{entries} and {counted(len(plan.notes), 'note')}"


def _size(plan: CopyPlan) -> str:
    size = f"{counted(plan.files, 'file')}, {bytes_in_words(plan.bytes)}"
    return f"{plan.origin} to {plan.pipeline.layout.home}: {size}"


def _document(pipeline: Pipeline, plan: RelocationPlan) -> dict[str, Any]:
    return {
        "pipeline": pipeline.name,
        "origin": str(plan.origin),
        "home": str(plan.home),
        "entries": _texts(plan.entries),
        "notes": _texts(plan.notes),
        "unfinished": plan.unfinished,
        "needed": plan.needed,
    }


def _document_of_copy(plan: CopyPlan) -> dict[str, Any]:
    return {
        "pipeline": plan.pipeline.name,
        "origin": str(plan.origin),
        "home": str(plan.pipeline.layout.home),
        "files": plan.files,
        "bytes": plan.bytes,
        "needed": True,
    }


def _texts(paths: Iterable[Path]) -> list[str]:
    return [str(path) for path in paths]
