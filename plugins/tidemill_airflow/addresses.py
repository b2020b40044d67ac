"""Where the pages are, and pages of Airflow that they lead to."""

from __future__ import annotations

from urllib.parse import quote, urlencode, urlsplit

from airflow.configuration import conf

URL_PREFIX = "/tidemill"


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
