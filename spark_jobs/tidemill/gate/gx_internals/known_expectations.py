"""The expectations that Great Expectations ships, read from its files without importing it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# Shipped unfinished: Great Expectations itself does not register it.
_UNFINISHED = {"expect_multicolumn_values_to_be_unique"}
_SHIPPED = re.compile(r"^from \.(\w+) import", re.MULTILINE)


@dataclass(frozen=True)
class Arguments:
    """The arguments of an expectation.

    Args:
        names: All of its arguments.
        required: Those that it cannot do without.
    """

    names: frozenset[str]
    required: frozenset[str]


@cache
def known_expectations() -> Mapping[str, Arguments | None]:
    """Type -> its arguments; None for the few whose arguments are not described."""
    # For a top-level package this finds the folder and runs nothing.
    package = find_spec("great_expectations")
    if package is None or package.origin is None:
        return {}
    core = Path(package.origin).parent / "expectations" / "core"
    types = {*_SHIPPED.findall((core / "__init__.py").read_text(encoding="utf-8"))} - _UNFINISHED
    return {kind: _arguments(core / "schemas" / f"{_class_name(kind)}.json") for kind in types}


def _class_name(kind: str) -> str:
    return "".join(part.capitalize() for part in kind.split("_"))


def _arguments(schema: Path) -> Arguments | None:
    if not schema.is_file():
        return None
    described = json.loads(schema.read_bytes())
    return Arguments(
        frozenset(described.get("properties", ())), frozenset(described.get("required", ()))
    )
