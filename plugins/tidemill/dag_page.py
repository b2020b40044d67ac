"""What Airflow's page of a DAG says: where rows come from, where they go, and where to look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spark_jobs.contract.spec import Spec

# The fields of a source, target or sink that say which one it is.
NAMED = (
    "path",
    "subscribe",
    "subscribePattern",
    "assign",
    "data_source",
    "topic",
    "topic_column",
    "table",
    "conn_id",
)


def dag_page(name: str, spec: Spec, path: Path, root: str) -> str:
    """The page as Markdown.

    Args:
        name: The pipeline's.
        spec: What it runs.
        path: The spec's file.
        root: `TIDEMILL_ROOT`, or its name where nobody knows it.
    """
    lines = [
        *(f"- source `{source}`: {_in_words(part)}" for source, part in spec.sources.items()),
        *_destinations(f"{root}/{name}", spec),
        f"- spec: `{path}`",
        f"- what is going on: `tidemill status {name}`",
    ]
    if spec.wake is not None:
        watched = (
            f"`{source}` ({kind}, a look each {watch.poke})"
            for kind, watch in spec.wake.watches.items()
            for source in spec.wake.sources_of(kind, spec.sources)
        )
        lines.insert(-2, f"- started when something is new at {', '.join(watched)}")
    return "\n".join((spec.description.strip(), "", *lines)).strip()


def _destinations(folder: str, spec: Spec) -> Iterator[str]:
    if spec.sink is not None:
        yield f"- sink: {_in_words(spec.sink)}; written by Spark itself, without a gate"
        return
    for target in spec.publish:
        if target.kind == "delta":
            yield f"- published table: `{folder}/table` (Delta)"
        else:
            yield f"- published to: {_in_words(target)}"
    yield f"- rejected rows: `{folder}/rejected` (Delta)"


def _in_words(part: Any) -> str:
    given = {field: value for field in NAMED if (value := getattr(part, field, None)) is not None}
    return ", ".join((part.kind, *(f"{field} `{value}`" for field, value in given.items())))
