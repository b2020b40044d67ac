"""Rows of a condition in the targets outside the root, and what these keep of their past."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tidemill.publish.erased_rows import ErasedRows, ErasesRows, KeepsPast
from tidemill.publish.registry import targets_of
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.parse_condition import WHOLE
from tidemill.steps.upkeep.erase.support import columns_of


def count_remote(pipeline: Pipeline, condition: Condition) -> dict[str, int]:
    """Target -> how many of the rows it holds, of those outside the root.

    Where the condition is on rows of sources, it tells none: the whole table is replaced.

    Raises:
        TargetUnreachable: one does not answer.
        TableTaken: one holds the rows of another pipeline.
    """
    if condition.sources:
        return {}
    rows = ErasedRows(_values(pipeline, condition))
    return {one.name: one.count_rows(rows) for one in _targets(pipeline, 0)}


def erase_remote(
    pipeline: Pipeline,
    condition: Condition,
    epoch: int,
    files: Mapping[Path, Path],
    hashes: Mapping[int, str],
) -> None:
    """Take the rows out of the targets outside the root.

    Args:
        epoch: The epoch of the lease that the caller holds.
        files: Data file -> the same without these rows.
        hashes: Event -> the hash of its files, where these are others now.
    """
    rows = ErasedRows(_values(pipeline, condition), files, hashes)
    for target in _targets(pipeline, epoch):
        target.erase_rows(rows)


def past_kept(pipeline: Pipeline) -> list[str]:
    """The targets outside the root that keep what their tables were.

    Raises:
        Refused: one's past could not be removed.
        TargetUnreachable: one does not answer.
        TableTaken: one holds the rows of another pipeline.
    """
    found = _with_past(pipeline, 0)
    for target in found:
        target.refuse_kept_past()
    return [target.name for target in found]


def forget_past(pipeline: Pipeline, epoch: int) -> None:
    """Remove from the targets outside the root what their tables were.

    Args:
        epoch: The epoch of the lease that the caller holds.
    """
    for target in _with_past(pipeline, epoch):
        target.forget_past()


def count_past(pipeline: Pipeline, generation: str) -> dict[str, int]:
    """Target -> how many versions it has that may hold rows of earlier generations.

    Args:
        generation: The one whose rows it is to have.
    """
    return {one.name: one.count_past(generation) for one in _with_past(pipeline, 0)}


def unnamed_files(pipeline: Pipeline) -> list[str]:
    """The files in the storage of targets outside the root that no version of a table names.

    Raises:
        TargetUnreachable: one does not answer.
    """
    return [file for one in _with_past(pipeline, 0) for file in one.unnamed_files()]


def _with_past(pipeline: Pipeline, epoch: int) -> list[KeepsPast]:
    found = targets_of(pipeline, epoch, lambda _: None)
    return [one for one in found if isinstance(one, KeepsPast)]


def _targets(pipeline: Pipeline, epoch: int) -> list[ErasesRows]:
    found = targets_of(pipeline, epoch, lambda _: None)
    return [one for one in found if isinstance(one, ErasesRows)]


def _values(pipeline: Pipeline, condition: Condition) -> Mapping[str, tuple[Any, ...]]:
    schema, _ = columns_of(pipeline)
    kinds = {field["name"]: field["type"] for field in schema["fields"]}
    return {
        name: tuple(_value(text, str(kinds.get(name))) for text in values)
        for name, values in condition.columns.items()
    }


def _value(text: str, kind: str) -> Any:
    if kind in WHOLE:
        return int(text)
    return date.fromisoformat(text) if kind == "date" else text
