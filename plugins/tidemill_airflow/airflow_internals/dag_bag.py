"""The DagBag, in which Airflow collects the DAGs of a file and its errors."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path

from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG

CALLS = {
    "airflow.dag_processing.dagbag:DagBag": ("dag_folder",),
    # A DagBag calls it on each DAG before it takes it.
    "airflow.sdk:DAG.validate": (),
}
ATTRIBUTES = (
    "airflow.dag_processing.dagbag:DagBag.bundle_path",
    "airflow.dag_processing.dagbag:DagBag.dags",
    "airflow.dag_processing.dagbag:DagBag.import_errors",
)


def parse(path: str) -> tuple[Mapping[str, DAG], Mapping[str, str]]:
    """The DAGs of a file or folder by their ids, and the import errors by their files."""
    bag = DagBag(path)
    return bag.dags, bag.import_errors


def calling_bag() -> DagBag | None:
    """The DagBag that has called the `DAG.validate` in which this is called; None outside of one.

    Airflow does not pass it.
    """
    frame = inspect.currentframe()
    validate = frame.f_back if frame else None
    caller = validate.f_back if validate else None
    bag = caller.f_locals.get("self") if caller else None
    return bag if isinstance(bag, DagBag) else None


def note_error(bag: DagBag, path: Path, error: str) -> None:
    """Note an import error under the name that Airflow has for a file: relative to its bundle."""
    bundle = bag.bundle_path
    if bundle is not None and path.is_relative_to(bundle):
        path = path.relative_to(bundle)
    bag.import_errors[str(path)] = error
