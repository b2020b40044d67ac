"""`tidemill docs`: the page of Great Expectations that shows how an increment was judged."""

from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

from typer import Option, launch

from tidemill.cli.completion import increments
from tidemill.cli.screen import Json, PipelineName, Screen
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.reporting.docs_pages import find_page
from tidemill.spec.catalog import find
from tidemill.spec.root import existing_root

Number = Annotated[
    int | None,
    Option(
        "--increment",
        min=1,
        help="The increment.",
        show_default="the newest that was judged",
        autocompletion=increments,
    ),
]
Open = Annotated[bool, Option("--open", help="Open the page in the browser.")]


def docs(
    name: PipelineName, increment: Number = None, open: Open = False, json: Json = False
) -> None:
    """Show where the Data Docs page of a verdict is, and open it with --open.

    Examples:
      tidemill docs tides --open
      tidemill docs tides --increment 3
    """
    screen = Screen(json)
    find(name)
    found, page = find_page(Layout(existing_root(), name), increment)
    if json:
        screen.document(
            {"pipeline": name, "increment": found.number, "state": found.state, "page": page}
        )
    else:
        screen.line(str(page))
    if open:
        launch(_on_disk(page).as_uri())


def _on_disk(page: Path) -> Path:
    """A page that a browser can open; that of a root in an object store is copied."""
    if not isinstance(page, ObjectPath):
        return page
    # A browser goes on reading it when this process has ended.
    copy = Path(mkdtemp(prefix="tidemill-docs-")) / page.name
    copy.write_bytes(page.read_bytes())
    return copy
