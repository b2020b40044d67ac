"""The samples of an increment's rows: in its judgement, and on the pages that show them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidemill.contract.layout import Layout
from tidemill.increments.increments import Increments, Verdict
from tidemill.storage import documents


def pages_of(layout: Layout, increments: Iterable[int]) -> Iterator[Path]:
    """Pages of Data Docs on increments, and the results that they are made of; they may be gone."""
    store = Increments(layout.increments)
    for number in increments:
        for _, path in documents.numbered(store.folder_of(number)):
            verdict = documents.read(path, Verdict)
            if verdict is not None:
                yield layout.run(verdict.run_id) / "validation.json"
                yield from _pages(layout, verdict)


def _pages(layout: Layout, verdict: Verdict) -> Iterator[Path]:
    recorded = verdict.judgement.get("docs")
    page = None if recorded is None else layout.docs_page(recorded)
    validations = layout.docs / "validations"
    if page is not None and page.is_relative_to(validations):
        yield page
        result = page.relative_to(validations).with_suffix(".json")
        yield layout.docs / "results" / result


def without_samples(judgement: Mapping[str, Any]) -> dict[str, Any]:
    """A judgement without values of rows, and without the pages that show some."""
    if not judgement:
        return {}
    outcomes = [
        {**one, "samples": [], "observed_value": None} for one in judgement.get("outcomes", ())
    ]
    return {**judgement, "outcomes": outcomes, "docs": None, "result": None}
