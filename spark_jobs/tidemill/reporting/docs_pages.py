"""The Data Docs page of an increment, among those that are kept."""

from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.increments.increment import Increment
from tidemill.increments.snapshot import Snapshot


class NoDocsPage(UsageError):
    """An increment has no page of Data Docs, or no longer; carries `increment`."""


def page_of(layout: Layout, increment: Increment) -> Path | None:
    """The page of the verdict that counts, whether it is still there or not; None without one."""
    page = None if increment.verdict is None else increment.verdict.judgement.get("docs")
    return None if page is None else layout.docs_page(page)


def find_page(layout: Layout, number: int | None) -> tuple[Increment, Path]:
    """An increment with its page.

    Args:
        number: The increment's number; None for the newest one that has a page.

    Raises:
        NoDocsPage: there is none.
        UsageError: there is no such increment.
    """
    snapshot = Snapshot(layout)
    among = reversed(snapshot.increments) if number is None else [snapshot.get(number)]
    for one in among:
        page = page_of(layout, one)
        if page is not None and page.is_file():
            return one, page
    which = "" if number is None else f" for increment {number:06d}"
    raise NoDocsPage(
        f"{layout.name} has no page of Data Docs{which}: there is none before the gate has judged, "
        "and the oldest are removed.",
        remedy=f"Its verdict is shown by: tidemill history {layout.name}",
        increment=number,
    )
