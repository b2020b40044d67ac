"""The run id under which a run of Airflow's goes on when Airflow does it once more.

Airflow keeps the id of a run that its Backfill dialog reprocesses. What such a run has published
stays in the books under that id, so what it computes then has an id of its own.
"""

from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.layout import Layout
from tidemill.storage import documents

MARK = ".reprocessed-"


class ReprocessedRun(Document):
    """One more time that a run of Airflow's is done.

    Attributes:
        run_id: The id that it has in the books.
    """

    run_id: str


def current_run_id(layout: Layout, run_id: str) -> str:
    """The id in the books under which a run of Airflow's goes on now.

    Args:
        run_id: Airflow's.
    """
    numbered = [path for _, path in documents.numbered(_folder(layout, run_id))]
    found = documents.read(numbered[-1], ReprocessedRun) if numbered else None
    return run_id if found is None else found.run_id


def current_run_folder(layout: Layout, run_id: str) -> Path:
    """The folder of a run of Airflow's, as it goes on now.

    Args:
        run_id: Airflow's.
    """
    return layout.run(current_run_id(layout, run_id))


def next_run_id(layout: Layout, run_id: str) -> str:
    """Give a run of Airflow's a new id in the books.

    Args:
        run_id: Airflow's.
    """
    folder = _folder(layout, run_id)
    number = 1 + max((number for number, _ in documents.numbered(folder)), default=0)
    document = ReprocessedRun(run_id=f"{run_id}{MARK}{number}")
    return documents.put_if_absent(folder / f"{number:03d}.json", document).run_id


def airflow_run_id(run_id: str) -> str:
    """Airflow's id of the run that has a certain id in the books."""
    before, mark, number = run_id.rpartition(MARK)
    return before if mark and number.isdecimal() else run_id


def _folder(layout: Layout, run_id: str) -> Path:
    return layout.run(run_id) / "reprocessed"
