"""What the shell offers for a word of a command that is not typed out yet."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from typer import Context

from tidemill.contract.errors import TidemillError
from tidemill.contract.examples import EXAMPLES
from tidemill.contract.layout import PIPELINE_NAME, Layout
from tidemill.reporting.error_page import read_errors
from tidemill.spec.catalog import spec_files
from tidemill.spec.root import root


def pipelines(incomplete: str) -> list[str]:
    """The names of pipelines, also of those whose spec does not load."""
    return _beginning(incomplete, _names())


def examples(incomplete: str) -> list[str]:
    return _beginning(incomplete, EXAMPLES)


def codes(incomplete: str) -> list[str]:
    """The codes of errors."""
    return _beginning(incomplete, (error.code for error in read_errors()))


def runs(context: Context, incomplete: str) -> list[str]:
    """The ids of the runs of the pipelines that are typed already, the newest first."""
    found = [path for layout in _layouts(context) for path in _entries(layout.runs)]
    newest = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
    return _beginning(incomplete, dict.fromkeys(unquote(path.name) for path in newest))


def increments(context: Context, incomplete: str) -> list[str]:
    """The numbers of the increments of the pipeline that is typed already, the newest first."""
    found = {path.name for layout in _layouts(context) for path in _entries(layout.increments)}
    numbers = sorted((name for name in found if name.isdigit()), reverse=True)
    return _beginning(incomplete, numbers)


def _names() -> Iterator[str]:
    # Two pipelines of one name are an error for the command to show.
    with suppress(TidemillError):
        for one in spec_files():
            yield one.name


def _layouts(context: Context) -> Iterator[Layout]:
    name = context.params.get("name")
    # Where an option waits for its value, the words before it are not parsed.
    typed = [name] if name else [word for word in context.args if PIPELINE_NAME.fullmatch(word)]
    with suppress(TidemillError):
        for one in typed:
            yield Layout(root(), one)


def _entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
