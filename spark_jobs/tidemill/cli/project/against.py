"""How `tidemill plan --against` shows what a change of a repository means."""

from collections.abc import Iterator, Sequence
from typing import Any

from tidemill.cli.screen import Screen
from tidemill.contract.counted import counted
from tidemill.steps.read_only.against.compare import Touched

COLUMNS = ("pipeline", "what", "was", "is", "verdict", "what it means", "what to do")


def as_document(ref: str, touched: Sequence[Touched]) -> dict[str, Any]:
    """As one JSON document."""
    return {
        "against": ref,
        "pipelines": [
            {
                "pipeline": one.pipeline,
                "fate": one.fate,
                "verdict": one.verdict,
                "trouble": one.trouble,
                "changes": [change.model_dump(mode="json") for change in one.changes],
            }
            for one in touched
        ],
    }


def show(screen: Screen, ref: str, touched: Sequence[Touched]) -> None:
    """As a table."""
    screen.table(_title(ref, touched), COLUMNS, _rows(touched))


def markdown(ref: str, touched: Sequence[Touched]) -> Iterator[str]:
    """As Markdown, such as for a comment on a pull request."""
    yield f"### {_title(ref, touched)}"
    if not touched:
        return
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    for row in _rows(touched):
        yield f"| {' | '.join(_cell(value) for value in row)} |"


def _title(ref: str, touched: Sequence[Touched]) -> str:
    if not touched:
        return f"No pipeline differs from {ref}"
    return f"{counted(len(touched), 'pipeline')} different from {ref}"


def _rows(touched: Sequence[Touched]) -> Iterator[tuple[Any, ...]]:
    for one in touched:
        if not one.changes:
            yield (one.pipeline, one.fate, None, None, None, one.trouble or None, None)
        for change in one.changes:
            texts = (change.verdict, change.means, change.remedy)
            yield (one.pipeline, change.field, change.was, change.now, *texts)


def _cell(value: Any) -> str:
    # A bar would end the cell, and a line break the table.
    return "" if value is None else " ".join(str(value).replace("|", "\\|").split())
