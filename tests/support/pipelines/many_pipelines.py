"""Many small pipelines, each with the status document that its steps would have left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.spec_text import minimal
from tidemill.contract.layout import Layout
from tidemill.reporting.derive_status import about_spec
from tidemill.reporting.status_document import (
    DAYS,
    DayRows,
    HeldIncrement,
    LastPublished,
    SourceBacklog,
    StatusDocument,
)
from tidemill.spec.load import load_spec
from tidemill.storage import documents

HELD: Mapping[str, Any] = {
    "held": (
        HeldIncrement(
            increment=7,
            since=datetime(2026, 3, 1, tzinfo=UTC),
            rows=10,
            rejected=0,
            reasons=("amount < 0",),
            behind_it=2,
            run_id="r7",
        ),
    ),
    "unpublished": 3,
}
WAITING: Mapping[str, Any] = {
    "sources": (
        SourceBacklog(
            source="orders",
            new=3,
            unit="files",
            bytes=2_500_000,
            oldest=datetime(2026, 3, 1, tzinfo=UTC),
        ),
    )
}


@dataclass(frozen=True)
class ManyPipelines:
    """A project and its root.

    Args:
        home: An empty directory.
    """

    home: Path

    @property
    def root(self) -> Path:
        return self.home / "root"

    @property
    def specs(self) -> Path:
        return self.home / "project" / "dags" / "specs"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "TIDEMILL_ROOT": str(self.root),
            "TIDEMILL_PROJECTS": str(self.home / "project"),
        }

    def add(self, name: str, more: str = "", **fields: Any) -> None:
        """A pipeline.

        Args:
            more: Text at the end of its spec.
            fields: Fields of its status document that differ from those of a fine one.
        """
        self.specs.mkdir(parents=True, exist_ok=True)
        path = self.specs / f"{name}.yaml"
        path.write_text(minimal(more))
        now = datetime.now(UTC)
        status = StatusDocument(
            pipeline=name,
            about=about_spec(name, load_spec(path, {}), path),
            epoch=0,
            counted=1,
            written=now,
            looked=now,
            published=LastPublished(increment=1, version=0, at=now - timedelta(hours=3)),
            days=tuple(
                DayRows(day=now.date() - timedelta(days=back), rows=100 * back + 1, rejected=1)
                for back in range(DAYS - 1, -1, -1)
            ),
            ran=True,
        ).model_copy(update=fields)
        documents.replace(Layout(self.root, name).status, status)
