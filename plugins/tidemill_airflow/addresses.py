"""Where the pages are, and pages of Airflow that they lead to."""

from __future__ import annotations

import os
from urllib.parse import quote, urlencode, urlsplit

from tidemill_airflow.airflow_internals.configuration import conf

URL_PREFIX = "/tidemill"
# The address of Spark's history server, such as http://history:18080.
SPARK_HISTORY = "TIDEMILL_SPARK_HISTORY"


def airflow_path(*parts: str, **query: str) -> str:
    """The path of a page of Airflow's UI, such as `airflow_path("dags", dag_id)`."""
    behind = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
    path = "/".join((behind, *(quote(part, safe="") for part in parts)))
    return f"{path}?{urlencode(query)}" if query else path


def page_url(*parts: str) -> str:
    """The whole address of one of our pages; '' where Airflow's `api.base_url` does not say it."""
    base = urlsplit(conf.get("api", "base_url", fallback=""))
    return f"{base.scheme}://{base.netloc}{page_path(*parts)}" if base.netloc else ""


def page_path(*parts: str, **query: str) -> str:
    """The path of one of our pages, such as `page_path("pipelines", name)`."""
    return airflow_path(URL_PREFIX.strip("/"), *parts, **query)


def spark_history_url(application_id: str) -> str:
    """The address of an application in Spark's history server; '' where none is configured."""
    server = os.environ.get(SPARK_HISTORY, "").strip().rstrip("/")
    if not server:
        return ""
    server = server if "://" in server else f"http://{server}"
    return f"{server}/history/{quote(application_id, safe='')}/"
