"""A YAML text as values and the line of each; a file is parsed once while it stays as it is."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tidemill.contract.errors import SpecError
from tidemill.spec.complaints import Location, field_name, refusal
from tidemill.spec.yaml_size import MOST_NODES, first_too_large

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_KEYS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "merge", "value"))


@dataclass(frozen=True)
class YamlText:
    """A parsed text, which is shared and never changed.

    Args:
        document: Its values.
        lines: Location in the document, such as `("output", "mode")`, -> 1-based line.
    """

    document: Any
    lines: dict[Location, int]


def read_yaml(path: Path) -> YamlText:
    """The values and lines of a file.

    Raises:
        SpecError: it cannot be read, or as `parse_yaml`.
    """
    try:
        found = path.stat()
        return _read(path, found.st_mtime_ns, found.st_size, found.st_ino)
    except (OSError, UnicodeDecodeError) as error:
        what = f"cannot be read ({error})"
        raise refusal(path, None, None, what, "Check the file and its permissions.") from error


@lru_cache(maxsize=4096)
def _read(path: Path, _time: int, _size: int, _inode: int) -> YamlText:
    return parse_yaml(path.read_text(encoding="utf-8"), path)


def parse_yaml(text: str, path: Path) -> YamlText:
    """The values and lines of a text; `path` is only for messages.

    Raises:
        SpecError: the text is not YAML, its aliases spell out to too much, or a key is given twice
            or is not text.
    """
    lines: dict[Location, int] = {}
    try:
        loader = _LOADER(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return YamlText(None, lines)
            _refuse_too_large(node, path)
            _index(node, (), lines, path)
            return YamlText(loader.construct_document(node), lines)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _not_yaml(error, path) from error


def _refuse_too_large(root: yaml.Node, path: Path) -> None:
    node = first_too_large(root)
    if node is not None:
        raise refusal(
            path,
            node.start_mark.line + 1,
            None,
            f"spells out to more than {MOST_NODES:,} values here, its aliases (*name) included",
            "Write the values out, or use fewer aliases of aliases.",
        )


def _index(node: yaml.Node, at: Location, lines: dict[Location, int], path: Path) -> None:
    lines[at] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            place = (*at, key.value if isinstance(key.value, str) else "?")
            if key.tag not in _TEXT_KEYS:
                line = key.start_mark.line + 1
                # YAML takes `on`, `no` and `1` for a truth value or a number.
                raise refusal(
                    path, line, field_name(place), "is not text", "Put the key in quotes."
                )
            if place in lines:
                raise refusal(
                    path, key.start_mark.line + 1, field_name(place), "is given twice", "Keep one."
                )
            _index(value, place, lines, path)
            lines[place] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _index(item, (*at, number), lines, path)


def _not_yaml(error: Exception, path: Path) -> SpecError:
    """The YAML reader's error; wrong dates and deep nesting do not raise a YAMLError."""
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark else None
    why = getattr(error, "problem", None) or str(error).split("\n")[0]
    return refusal(path, line, None, f"is not YAML ({why})", "Fix the syntax.")
