"""The list of pipelines: the first page, and the same as JSON for monitoring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse, JSONResponse

from tidemill.reporting.folding import fold
from tidemill.reporting.standing import (
    PipelineStanding,
    by_attention,
    listed_pipelines,
    read_standing,
)
from tidemill.reporting.status_document import PipelineState
from tidemill.spec.catalog import shown_spec_files
from tidemill.spec.root import existing_root
from tidemill_airflow.airflow_internals.api_server import GetUserDep
from tidemill_airflow.pages.access import permitted
from tidemill_airflow.pages.rendering import render

router = APIRouter()


@dataclass(frozen=True)
class Filter:
    """What the reader wants to see; an empty text stands for everything."""

    name: str = ""
    state: str = ""
    owner: str = ""
    tag: str = ""
    unfolded: bool = False

    @property
    def folds(self) -> bool:
        """Whether a template's pipelines may share a row: no filter is set."""
        return not (self.unfolded or self.name.strip() or self.state or self.owner or self.tag)

    def keeps(self, one: PipelineStanding) -> bool:
        return (
            self.name.strip().lower() in one.pipeline
            and self.state in ("", one.state)
            and self.owner in ("", one.about.owner)
            and (not self.tag or self.tag in one.about.tags)
        )


@router.get("/pipelines")
def pipelines(user: GetUserDep, chosen: Annotated[Filter, Depends()]) -> HTMLResponse:
    """Every pipeline whose DAG the user may read, what needs attention first."""
    readable = readable_pipelines(user)
    kept = [one for one in readable if chosen.keeps(one)]
    return render(
        "pipelines.html",
        pipelines=fold(kept) if chosen.folds else kept,
        shown=len(kept),
        count=len(readable),
        chosen=chosen,
        states=_counted(readable),
        owners=sorted({one.about.owner for one in readable if one.about.owner}),
        tags=sorted({tag for one in readable for tag in one.about.tags}),
    )


@router.get("/pipelines.json")
def pipelines_json(user: GetUserDep, chosen: Annotated[Filter, Depends()]) -> JSONResponse:
    """The `pipelines` of `tidemill status --json` that the user may read, without their `chain`."""
    found = [one for one in readable_pipelines(user) if chosen.keeps(one)]
    content: list[dict[str, Any]] = [one.model_dump(mode="json") for one in found]
    return JSONResponse(content, headers={"Cache-Control": "private, no-store"})


def readable_pipelines(user: GetUserDep) -> list[PipelineStanding]:
    """Where each pipeline stands whose DAG a user may read, what needs attention first."""
    shown = set(shown_spec_files())
    found = [read_standing(existing_root(), spec) for spec in listed_pipelines() if spec in shown]
    readable = permitted({one.about.dag_id for one in found}, user)
    return by_attention(one for one in found if one.about.dag_id in readable)


def _counted(found: Iterable[PipelineStanding]) -> dict[str, int]:
    """State -> how many pipelines are in it, for the states that there are."""
    states = [one.state for one in found]
    return {state: states.count(state) for state in get_args(PipelineState) if state in states}
