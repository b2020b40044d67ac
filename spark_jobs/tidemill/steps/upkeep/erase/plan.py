"""The plan of an erasure: what below a pipeline's folder holds rows of a condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from tidemill.contract.counted import counted
from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.upkeep.erase.books import Books
from tidemill.steps.upkeep.erase.condition import Condition, words_pattern
from tidemill.steps.upkeep.erase.find import Found, find
from tidemill.steps.upkeep.erase.input_files import InputLeft, input_left
from tidemill.steps.upkeep.erase.past import Past
from tidemill.steps.upkeep.erase.rebuild import refuse_unreadable
from tidemill.steps.upkeep.erase.remote_rows import count_remote, past_kept, unnamed_files
from tidemill.steps.upkeep.erase.row_file import NotErasable
from tidemill.steps.upkeep.erase.support import refuse_named, refuse_unsupported
from tidemill.storage.erasures import Erasure, newest_erasure, read_erasures, unfinished_erasure
from tidemill.storage.folders import keeps_versions, walk
from tidemill.storage.lease import newest_epoch


class OtherErasureUnfinished(UsageError):
    """Another erasure has to be finished first; carries `erasure`, `columns`."""


@dataclass(frozen=True)
class ErasePlan:
    """What an erasure would do.

    Args:
        found: What is below the pipeline's folder.
        remote: Target outside the root -> how many of the rows it holds.
        past: Targets outside the root whose earlier snapshots are to go.
        unnamed: Files in the storage of such targets that none of their snapshots names.
        partitions: The partitions of the files of rows, as directories name them.
        increments: The increments whose files these are.
        inputs: Files outside the folder that the rows were read from.
        lasting: The number of the erasure that leaves these rows out already; None for none.
        begun: The erasure that is to be finished.
        condition: The condition of the rows.
        origins: Sources whose input the rows came from, beside files.
        lost: What cannot be read again, which a person accepts.
        versions: Whether the bucket of the root keeps older versions of objects.
    """

    layout: Layout
    found: Found
    remote: Mapping[str, int]
    past: tuple[str, ...]
    unnamed: tuple[str, ...]
    partitions: tuple[str, ...]
    increments: tuple[int, ...]
    inputs: InputLeft
    lasting: int | None
    begun: Erasure | None
    condition: Condition
    origins: tuple[str, ...]
    lost: tuple[str, ...]
    versions: bool

    @property
    def rebuilds(self) -> bool:
        """Whether all input is read again without the rows."""
        return bool(self.condition.sources)

    @property
    def rows(self) -> int:
        """Good rows, each as often as Spark has written it."""
        return sum(one.good for one in self.found.of_sinks(self.layout))

    @property
    def rejected(self) -> int:
        """Rejected rows likewise."""
        return sum(one.rejected for one in self.found.of_sinks(self.layout))

    @property
    def needed(self) -> bool:
        # After a rebuild only rows of other sources are left, which stay.
        held = not self.rebuilds and (self.found.paths or any(self.remote.values()))
        return bool(held or self.begun) or self.lasting is None

    def phrases(self) -> Iterator[str]:
        """What would be done, as phrases."""
        found = self.found
        if self.rebuilds:
            yield (
                f"read all input again without those rows of {', '.join(self.condition.sources)}, "
                "into a new generation that replaces the table"
            )
            yield "remove every earlier generation: its files, checkpoint, samples and pages"
            for one in self.lost:
                yield f"go on without what cannot be read again: {one}"
        elif found.rows:
            yield (
                f"erase {counted(self.rows, 'row')} and {self.rejected:,} rejected ones from "
                f"{counted(len(found.rows), 'file')}"
            )
        for partition in () if self.rebuilds else self.partitions:
            yield f"write {partition} again"
        for target, rows in self.remote.items():
            if rows:
                yield f"erase {counted(rows, 'row')} from {target}"
        for target in self.past:
            yield f"remove the earlier snapshots of {target}, with their files"
        for path in found.pages:
            yield f"remove {path}"
        for path in found.words:
            yield f"take values out of {path}"
        for path in found.waste:
            yield f"remove {path}, which no log names"
        if self.lasting is None:
            yield "leave such rows out of every later batch and recomputation"

    def as_dict(self) -> dict[str, Any]:
        found = self.found
        return {
            "pipeline": self.layout.name,
            "rows": self.rows,
            "rejected": self.rejected,
            "files": [str(one.path) for one in found.rows],
            "targets": dict(self.remote),
            "past": list(self.past),
            "unnamed": list(self.unnamed),
            "partitions": list(self.partitions),
            "increments": list(self.increments),
            "pages": [str(path) for path in found.pages],
            "documents": [str(path) for path in found.words],
            "waste": [str(path) for path in found.waste],
            "inputs": [str(path) for path in self.inputs.there],
            "inputs_gone": self.inputs.gone,
            "sources": list(self.condition.sources),
            "origins": list(self.origins),
            "lost": list(self.lost),
            "erasure": self.lasting,
            "versions": self.versions,
            "needed": self.needed,
        }


def plan_erase(pipeline: Pipeline, condition: Condition, *, accept_loss: bool = False) -> ErasePlan:
    """Find out what an erasure would do; nothing is changed.

    Args:
        accept_loss: Whether input that cannot be read again is passed over.

    Raises:
        NotErasable: the pipeline, or something that it holds, is of a kind that is not erased.
        OtherErasureUnfinished: another erasure was begun.
        TargetUnreachable: a target outside the root does not answer.
        Refused: a target keeps earlier rows for others.
    """
    layout = pipeline.layout
    refuse_unsupported(pipeline, condition)
    past_targets = past_kept(pipeline) if condition.sources else []
    lost: tuple[str, ...] = ()
    begun, lasting = _unfinished(layout, condition), _lasting(layout, condition)
    if condition.sources and begun is None and lasting is None:
        lost = refuse_unreadable(pipeline, accept_loss=accept_loss)
    found = find(layout, condition)
    if condition.sources:
        past = Past(layout)
        stuck = tuple(path for path in found.stuck if not past.has(path))
        found = replace(found, stuck=stuck)
        if begun is None and lasting is None:
            _refuse_named_partitions(layout, condition)
    else:
        refuse_named(layout, found.waste)
    if found.stuck:
        raise NotErasable(
            f"{counted(len(found.stuck), 'file')} of {layout.name} would go on holding values, the "
            f"first of them {found.stuck[0]}: a copy of a static input, or the name of a file in a "
            "log.",
            remedy="Nothing was changed. Remove the person from the static input or rename the "
            f"input files; then start over: tidemill drop {layout.name} --table",
            pipeline=layout.name,
            reasons=tuple(map(str, found.stuck)),
        )
    number = begun.number if begun else newest_erasure(layout.home) + 1
    books = Books(layout, {one.path: one.without(number) for one in found.rows}, number)
    return ErasePlan(
        layout,
        found,
        count_remote(pipeline, condition),
        tuple(past_targets),
        tuple(unnamed_files(pipeline)),
        tuple(_partitions(layout, found)),
        tuple(books.increments),
        InputLeft((), 0) if condition.sources else input_left(layout, books.batches),
        lasting,
        begun,
        condition,
        _origins(pipeline, condition, books),
        lost,
        keeps_versions(layout.lease / f"{newest_epoch(layout.lease):06d}.json"),
    )


def _origins(pipeline: Pipeline, condition: Condition, books: Books) -> tuple[str, ...]:
    if condition.sources or not books.batches:
        return condition.sources
    sources = pipeline.spec.sources.items()
    return tuple(name for name, source in sources if not source.LISTS_FILES)


def _refuse_named_partitions(layout: Layout, condition: Condition) -> None:
    """Refuse values that are in the names of partitions, which logs and documents repeat.

    Raises:
        NotErasable: a value is.
    """
    if not condition.texts:
        return
    pattern = words_pattern(condition.texts)
    for place, folders, _ in walk(layout.table):
        for name in folders:
            if "=" in name and pattern.search(unquote(name)):
                raise NotErasable(
                    f"The partition {place / name} has a value in its name, which logs repeat.",
                    remedy="Nothing was changed. Partition by another column, and start over: "
                    f"tidemill drop {layout.name} --table",
                    pipeline=layout.name,
                    reasons=(str(place / name),),
                )


def _unfinished(layout: Layout, condition: Condition) -> Erasure | None:
    """The erasure of a condition that is to be finished.

    Raises:
        OtherErasureUnfinished: that of another condition is.
    """
    found = unfinished_erasure(layout.home)
    if found is not None and not _is_of(found, condition):
        raise OtherErasureUnfinished(
            f"Erasure {found.number} of {layout.name}, by {', '.join(found.columns)}, was begun "
            "with another condition.",
            remedy="Finish it first, with its own --where and --value.",
            erasure=found.number,
            columns=tuple(found.columns),
        )
    return found


def _lasting(layout: Layout, condition: Condition) -> int | None:
    same = (one.number for one in read_erasures(layout.home) if _is_of(one, condition))
    return next(same, None)


def _is_of(erasure: Erasure, condition: Condition) -> bool:
    hidden: Mapping[str, Any] = condition.hidden(erasure.salt)
    return all(getattr(erasure, name) == value for name, value in hidden.items())


def _partitions(layout: Layout, found: Found) -> Iterator[str]:
    """Where the files of rows are, such as `table/day=2026-03-01`."""
    places = set()
    for one in found.rows:
        parts = one.path.relative_to(layout.home).parts[:-1]
        folders = [part for part in parts if "=" in part]
        places.add("/".join((parts[0], *folders)))
    yield from sorted(places)
