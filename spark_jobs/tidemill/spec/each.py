"""The rows of a spec's `each`: one file of a spec is then a template of many pipelines."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from tidemill.contract.layout import PIPELINE_NAME
from tidemill.spec.complaints import Location, refusal
from tidemill.spec.yaml_text import YamlText, read_yaml

# What only a template has; the rest of it is the spec of each of its pipelines.
KEYS = ("each", "name", "except")
SKIP = "skip"
VARIABLE = re.compile(r"\$\{([^}]*)\}")
_HAS_ROWS = re.compile(rb"^[\"']?each[\"']?\s*:", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One pipeline of a template.

    Args:
        name: As `except` names it.
        pipeline: The pipeline's name, without that of folders.
        values: Variable -> value.
        changes: What `except` says of it; None where it says nothing.
        at: Where the changes are in the template.
    """

    name: str
    pipeline: str
    values: Mapping[str, Any]
    changes: Mapping[str, Any] | None
    at: Location


def is_template(path: Path) -> bool:
    """Whether a file has rows, found without parsing it."""
    try:
        found = path.stat()
        return _has_rows(path, found.st_mtime_ns, found.st_size, found.st_ino)
    except OSError:
        return False


@lru_cache(maxsize=4096)
def _has_rows(path: Path, _time: int, _size: int, _inode: int) -> bool:
    return _HAS_ROWS.search(path.read_bytes()) is not None


def rows_of(path: Path) -> Mapping[str, Row]:
    """Pipeline, without the name of its folders -> its row.

    Raises:
        SpecError: `each`, `name` or `except` cannot be understood, or two rows have one name.
    """
    text = read_yaml(path)
    source = text.document.get("each") if isinstance(text.document, dict) else None
    table = (path.parent / source).resolve() if isinstance(source, str) else path
    try:
        changed = table.stat().st_mtime_ns
    except OSError as error:
        what = f"names {table}, which cannot be read ({error.strerror})"
        remedy = "Name a CSV file, relative to the folder of the spec."
        raise refusal(path, text.lines.get(("each",)), "each", what, remedy) from error
    return _rows(path, path.stat().st_mtime_ns, table, changed)


@lru_cache(maxsize=512)
def _rows(path: Path, _time: int, table: Path, _changed: int) -> Mapping[str, Row]:
    text = read_yaml(path)
    lines, document = text.lines, text.document
    exceptions = document.get("except") or {}
    if not isinstance(exceptions, dict):
        remedy = f"Write ROW: {SKIP}, or ROW: with the fields that differ."
        raise refusal(path, lines["except",], "except", "is not a mapping of rows", remedy)
    names = document.get("name")
    if names is not None and not isinstance(names, str):
        raise refusal(path, lines["name",], "name", "is not text", "Write such as feed_${name}.")
    found: dict[str, Row] = {}
    seen: set[str] = set()
    for file, line, given, values in _values(path, text, table):
        pipeline = _pipeline(path, file, line, given, values, names)
        name = given or pipeline
        if name in seen or pipeline in found:
            what = f"has two rows of the name '{name}'"
            raise refusal(file, line, "each", what, "Give each row a name of its own.")
        seen.add(name)
        changes = exceptions.get(name)
        if changes != SKIP:
            if changes is not None and not isinstance(changes, dict):
                what = "is neither a mapping of fields nor the word skip"
                at = lines["except", name]
                raise refusal(path, at, f"except.{name}", what, "Write one of them.")
            own = {"name": name, **values}
            found[pipeline] = Row(name, pipeline, own, changes, ("except", name))
    for name in exceptions:
        if name not in seen:
            near = get_close_matches(name, seen, n=1)
            remedy = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(sorted(seen))}."
            raise refusal(
                path, lines["except", name], f"except.{name}", "is not a row of each", remedy
            )
    return found


def _values(
    path: Path, text: YamlText, table: Path
) -> Iterator[tuple[Path, int, str | None, Mapping[str, Any]]]:
    """The rows as they are written: file, line, name if they have one, and values."""
    each, lines = text.document["each"], text.lines
    if isinstance(each, str):
        with table.open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened)
            for one in reader:
                if None in one or None in one.values():
                    what = "has another number of values than the first line has names"
                    remedy = "Write a value for each name; an empty one where there is none."
                    raise refusal(table, reader.line_num, "the row", what, remedy)
                yield table, reader.line_num, one.get("name"), one
        return
    if isinstance(each, dict):
        rows = [(lines["each", name], name, values) for name, values in each.items()]
    elif isinstance(each, list):
        rows = [(lines["each", n], None, values) for n, values in enumerate(each)]
    else:
        what = "is neither a mapping, nor a list of mappings, nor a CSV file"
        raise refusal(path, lines.get(("each",)), "each", what, "Write one of them.")
    for line, name, values in rows:
        if values is not None and not isinstance(values, dict):
            what = "has a row that is not a mapping of names to values"
            raise refusal(path, line, "each", what, "Write such as {country: de}.")
        own = (values or {}).get("name")
        yield path, line, name or (own if own is None else text_of(own)), values or {}


def _pipeline(
    path: Path, file: Path, line: int, given: str | None, values: Mapping[str, Any], names: Any
) -> str:
    """The name of a row's pipeline."""
    if names is None and not given:
        remedy = "Give each row a 'name', or the spec a 'name:' made of values, as ${country}."
        raise refusal(file, line, "the row", "has no name", remedy)
    own = {"name": given, **values} if given else values

    def value(match: re.Match[str]) -> str:
        if match[1] not in own:
            what = f"uses ${{{match[1]}}}, which the row at {file}:{line} does not have"
            raise refusal(path, None, "name", what, f"Known: {', '.join(own)}.")
        return text_of(own[match[1]])

    name = f"{path.stem}_{given}" if names is None else VARIABLE.sub(value, names)
    if not PIPELINE_NAME.fullmatch(name):
        what = f"gives the pipeline name '{name}', which cannot be one"
        remedy = "Use a lower-case letter, then letters, digits and underscores."
        raise refusal(file, line, "the row", what, remedy)
    return name


def text_of(value: Any) -> str:
    """A value as a text holds it: YAML's words for truth values."""
    return str(value).lower() if isinstance(value, bool) else str(value)
