"""Airflow's list of DAGs without the resolve DAGs, unless a person looks for them.

Each published pipeline has a resolve DAG beside its own, because Airflow knows permissions, queues
and pools by DAG. In the list they would double the number of rows. Airflow has no hidden DAGs, so
the request of its list is narrowed here. Nothing is refused: permissions are checked elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from tidemill_airflow.airflow_internals.ui_dag_list import LOOKS_FOR, PATH
from tidemill_airflow.task_names import RESOLVE, RESOLVE_TAG

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class DagList:
    """Middleware of Airflow's API server: its list of DAGs leaves resolve DAGs out.

    A search by name, the tag `resolve`, favourites, *Required Actions* and filters by state show
    them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(PATH):
            query: bytes = scope["query_string"]
            if not looks_for_resolve_dags(query.decode("latin-1")):
                from starlette.concurrency import run_in_threadpool

                listed = await run_in_threadpool(dags_without_resolve)
                named = urlencode([("dag_ids", dag_id) for dag_id in listed]).encode()
                scope = {**scope, "query_string": b"&".join(filter(None, (query, named)))}
        await self._app(scope, receive, send)


def looks_for_resolve_dags(query: str) -> bool:
    """Whether a request of the list may show resolve DAGs."""
    given = parse_qs(query)
    return not LOOKS_FOR.isdisjoint(given) or RESOLVE_TAG in given.get("tags", ())


def dags_without_resolve() -> list[str]:
    """All DAGs but the resolve DAGs; none where there is nothing to leave out."""
    from tidemill_airflow.airflow_internals.dag_models import other_dags

    others = other_dags(RESOLVE, RESOLVE_TAG)
    # No DAG has this id: a list of resolve DAGs alone becomes an empty one, not all of them.
    return [] if others is None else [*others, ""]
