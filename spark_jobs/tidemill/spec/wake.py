"""Settings for starting a run by new input, beside the schedule.

Waking only starts a run. What it reads is for the checkpoint to say, so that a wake-up that is
late, doubled or lost neither loses rows nor reads them twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from tidemill.contract.syntax.quantities import Duration
from tidemill.spec.model import Disagreement, Model, Name
from tidemill.spec.sources.base import BaseSource

if TYPE_CHECKING:
    from tidemill.spec.spec import Spec

# How a spec calls the kinds of source that can wake a pipeline.
KINDS = {"files": "file", "kafka": "kafka", "tables": "table"}


class Watch(Model):
    """Looking at a source from time to time.

    Attributes:
        source: Its name in the spec; every source of the kind where not given.
        poke: The pause between two looks.
    """

    source: Name | None = None
    poke: Annotated[Duration, Field(ge=timedelta(seconds=1))] = timedelta(seconds=30)


class Wake(Model):
    """The sources that start a run when something new is there.

    Attributes:
        files: File sources, whose directories are listed.
        kafka: Kafka sources, whose newest offsets are asked for; no consumer group is joined.
        tables: Table sources: a run starts when a DAG has published their tables, and these are
            asked for new versions too.
    """

    files: Watch | None = None
    kafka: Watch | None = None
    tables: Watch | None = None

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.watches:
            msg = f"name what wakes the pipeline: {' or '.join(KINDS)}"
            raise ValueError(msg)
        return self

    @property
    def watches(self) -> dict[str, Watch]:
        """The watched object, by the spec's name for it."""
        return {name: getattr(self, name) for name in KINDS if getattr(self, name) is not None}

    def sources_of(self, kind: str, sources: Mapping[str, BaseSource]) -> tuple[str, ...]:
        """The names of the sources that one watch looks at.

        Args:
            kind: `files`, `kafka` or `tables`.
        """
        wanted = self.watches[kind].source
        of_kind = (n for n, s in sources.items() if getattr(s, "kind", None) == KINDS[kind])
        return tuple(name for name in of_kind if wanted in (None, name))

    def agree(self, spec: Spec) -> None:
        """Check it against the rest of its spec.

        Raises:
            Disagreement: there is no such source, or nothing would notice that a feed is overdue.
        """
        for kind, watch in self.watches.items():
            if not self.sources_of(kind, spec.sources):
                what = f"source '{watch.source}'" if watch.source else "source"
                msg = f"there is no {what} of kind {KINDS[kind]}"
                raise Disagreement(msg, "wake", kind, *(["source"] if watch.source else []))
        if spec.expect is not None and spec.schedule is None:
            msg = "a feed that stops arriving starts no run; give the pipeline a schedule too"
            raise Disagreement(msg, "expect")
