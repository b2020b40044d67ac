"""Where output goes: people read lines and tables, programs read JSON, CSV or plain columns."""

import csv
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import date, time
from math import isfinite
from typing import Annotated, Any, TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from typer import Argument, Context, Option

from tidemill.cli.completion import pipelines
from tidemill.contract.errors import TidemillError, UsageError
from tidemill.contract.remedy import more_about

# The width of what is drawn into a file or a log, where no window can be widened.
PLAIN_WIDTH = 160
# What would end a cell or a row where nothing quotes it.
ESCAPED = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})

_ASKED = "tidemill.json"

# Where the JSON document goes, once standard output is kept for it alone.
_documents: TextIO | None = None


def keep_output_for_document() -> None:
    """Send whatever else this process writes to standard output to standard error.

    A JVM, a library in C and a transform that prints all write there, and none asks for --json.
    """
    global _documents
    sys.stdout.flush()
    _documents = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)


def _remember(ctx: Context, given: bool) -> bool:
    # `meta` is shared with the group, which prints the errors.
    ctx.meta[_ASKED] = given
    return given


def json_asked_for(ctx: Context) -> bool:
    return bool(ctx.meta.get(_ASKED))


Json = Annotated[
    bool, Option("--json", help="Print one JSON document instead.", callback=_remember)
]
Csv = Annotated[bool, Option("--csv", help="Print the rows as CSV, all else on standard error.")]
PipelineName = Annotated[
    str,
    Argument(metavar="NAME", help="The pipeline.", show_default=False, autocompletion=pipelines),
]


class Quantity(int):
    """A number of rows or the like: people read it with separators, programs without."""


class Screen:
    """Standard output and standard error of one command.

    Args:
        as_json: Keep standard output for one JSON document; lines go to standard error.
        as_csv: Keep standard output for the rows of a table; lines go to standard error.

    Raises:
        UsageError: both are asked for.
    """

    def __init__(self, as_json: bool = False, as_csv: bool = False) -> None:
        if as_json and as_csv:
            raise UsageError("--json and --csv exclude each other.", remedy="Give one of them.")
        self.as_json = as_json
        self.as_csv = as_csv
        self._err = _console(stderr=True)
        self._out = self._err if as_json or as_csv else _console()

    def line(self, text: str) -> None:
        """A line of text, never wrapped: logs are searched by line."""
        self._out.print(text, markup=False, highlight=False, soft_wrap=True)

    def problem(self, text: str) -> None:
        """A line on standard error."""
        self._err.print(text, markup=False, highlight=False, soft_wrap=True)

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        aside: bool = False,
    ) -> None:
        """A table of values; None is shown as nothing, what is nested as JSON.

        In a window the columns are aligned. In a pipe a row is a line, with a tab between values.

        Args:
            aside: Whether it only goes with the command's rows: CSV holds one table.
        """
        if title:
            # As the table's own title it would be broken at the table's width.
            self._out.print(Text(title, style="bold"), soft_wrap=True)
        if self.as_csv and not aside:
            lines = csv.writer(sys.stdout, lineterminator="\n")
            lines.writerows([columns, *([_cell(value) for value in row] for row in rows)])
            return
        if not self._out.is_terminal:
            for row in (columns, *rows):
                cells = (_cell(value).translate(ESCAPED) for value in row)
                # The console would put blanks in the place of tabs.
                self._out.file.write("\t".join(cells) + "\n")
            return
        table = Table(box=None, pad_edge=False)
        for name in columns:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(Text(_for_people(value)) for value in row))
        self._out.print(table)

    def document(self, data: Any) -> None:
        """The one JSON document."""
        text = json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False)
        stream = _documents or sys.stdout
        stream.write(text + "\n")
        stream.flush()

    def error(self, error: TidemillError) -> None:
        """An error as the one document, or as a line on standard error."""
        if self.as_json:
            self.document(error.as_dict())
        else:
            self.problem(f"{error.code}: {error}{more_about(error.as_dict())}")

    def busy(self, what: RenderableType) -> AbstractContextManager[object]:
        """Shows that something is going on, where somebody is watching.

        Args:
            what: A line of text, or what rich draws again several times a second.
        """
        return self._out.status(what) if self._out.is_terminal else nullcontext()


def _console(*, stderr: bool = False) -> Console:
    console = Console(stderr=stderr)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console


def _for_people(value: object) -> str:
    return f"{value:,}" if isinstance(value, Quantity) else _cell(value)


def _cell(value: object) -> str:
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(_plain(value), ensure_ascii=False)
    return "" if value is None else str(value)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: decimals, NaN and bytes as text, times as ISO 8601."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)
