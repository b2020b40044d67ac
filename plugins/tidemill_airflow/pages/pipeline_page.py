"""The page of a pipeline: its increments along time, its targets, sources and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse

from tidemill.contract.errors import TidemillError, UsageError
from tidemill.contract.layout import Layout
from tidemill.reporting.chain import Chain, chains_of, read_abouts
from tidemill.reporting.chain_graph import chain_graph
from tidemill.reporting.due import due_in_words, read_due
from tidemill.reporting.effective_spec import Setting, effective_spec
from tidemill.reporting.pipeline_history import PipelineHistory, read_history
from tidemill.reporting.standing import PipelineStanding, read_standing
from tidemill.reporting.status_document import About
from tidemill.sources.due import Due
from tidemill.spec.catalog import find
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.root import existing_root
from tidemill_airflow.airflow_internals.api_server import GetUserDep, MayReadDag, SessionDep
from tidemill_airflow.airflow_internals.dag_models import queued_while_paused
from tidemill_airflow.pages.access import MayRead, dag_of, permitted
from tidemill_airflow.pages.chain_drawing import Drawing, drawing
from tidemill_airflow.pages.rendering import render
from tidemill_airflow.pages.runs import pipelines_of

router = APIRouter()


@router.get("/dags/{dag_id}", dependencies=[MayReadDag])
def pipelines_of_dag(dag_id: str, session: SessionDep, user: GetUserDep) -> HTMLResponse:
    """The tab of a DAG: its pipeline, or the members of its group."""
    names = pipelines_of(dag_id)
    if len(names) == 1:
        return _page(names[0], session, user)
    return render("group.html", dag_id=dag_id, names=names)


@router.get("/pipelines/{pipeline}", dependencies=[MayRead])
def pipeline(pipeline: str, session: SessionDep, user: GetUserDep) -> HTMLResponse:
    """A pipeline."""
    return _page(pipeline, session, user)


def _page(name: str, session: SessionDep, user: GetUserDep) -> HTMLResponse:
    opened, problem = _opened(name)
    targets = [] if opened is None else [target.name for target in opened.spec.publish]
    try:
        history = read_history(Layout(existing_root(), name), targets)
    except UsageError as error:
        raise HTTPException(404, error.what) from error
    except TidemillError as error:
        # A damaged document is what a person has to know first.
        return render("pipeline.html", 200, name=name, history=None, settings=(), problem=error)
    settings, unread = _settings(opened)
    abouts = read_abouts(existing_root())
    return render(
        "pipeline.html",
        name=name,
        history=history,
        settings=settings,
        problem=problem or unread,
        newest_rows=_rows(history),
        standing=_standing(name),
        chain=(chain := _readable_chain(name, abouts, user, due_in := cache(read_due))),
        drawn=_drawn(name, abouts, user) if chain.upstream or chain.downstream else None,
        due=[due_in_words(name, one) for one in due_in(name)],
        dag_id=(dag := dag_of(name)),
        queued=len(queued_while_paused(dag, session)),
    )


def _opened(name: str) -> tuple[Pipeline | None, TidemillError | None]:
    try:
        return open_pipeline(name), None
    except UsageError as error:
        return None, error


def _settings(opened: Pipeline | None) -> tuple[tuple[Setting, ...], TidemillError | None]:
    if opened is None:
        return (), None
    try:
        return effective_spec(opened), None
    except UsageError as error:
        return (), error


def _standing(name: str) -> PipelineStanding | None:
    """Where it stands, as the list of pipelines says it; None for a pipeline without a spec."""
    try:
        return read_standing(existing_root(), find(name))
    except UsageError:
        return None


def _readable_chain(
    name: str,
    abouts: Mapping[str, About],
    user: GetUserDep,
    due_in: Callable[[str], Sequence[Due]],
) -> Chain:
    """The neighbours of a pipeline that the user may read."""
    chain = chains_of([name], abouts, due_in)[name]
    return chain.among(permitted(chain.dag_ids, user))


def _drawn(name: str, abouts: Mapping[str, About], user: GetUserDep) -> Drawing | None:
    """The whole chain of a pipeline, as far as the user may read it."""
    dag_ids = permitted({about.dag_id for about in abouts.values()}, user)
    graph = chain_graph(name, abouts, dag_ids)
    return None if graph is None else drawing(graph)


def _rows(history: PipelineHistory) -> list[int]:
    """The rows of the increments that the page shows, oldest first."""
    return [one.status.rows for one in reversed(history.increments)]
