"""A suite as the gate reads it: the JSON that Great Expectations writes, without importing it.

Importing Great Expectations costs seconds, so `check`, the choice of the engine and the suite's
hash work on the JSON alone.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from tidemill.contract.errors import UsageError
from tidemill.contract.syntax.sql_text import java_call
from tidemill.gate.gx_internals.known_expectations import known_expectations
from tidemill.gate.gx_project import GxProject, hash_of_plugins, project_of
from tidemill.increments.judgement import Scope, Severity
from tidemill.spec.pipeline_files import NO_SUITE

ROW_COUNTS = (
    "expect_table_row_count_to_be_between",
    "expect_table_row_count_to_equal",
    "expect_table_row_count_to_equal_other_table",
)
COLUMN_ARGUMENTS = ("column", "column_A", "column_B", "column_list", "column_set")


class SuiteError(UsageError):
    """A suite does not load; carries `path` and, where one is to blame, `expectation`."""


@dataclass(frozen=True)
class Expectation:
    """One expectation of a suite.

    Args:
        type: Great Expectations' name of it.
        kwargs: Its arguments.
        severity: Only `critical`, the default of Great Expectations, holds an increment.
        scope: `table` where its `meta` says `{"scope": "table"}`.
        raw: Its JSON, whole.
    """

    type: str
    kwargs: Mapping[str, Any]
    severity: Severity
    scope: Scope
    raw: Mapping[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it names, with those of its row condition."""
        named: list[str] = []
        for argument in COLUMN_ARGUMENTS:
            value = self.kwargs.get(argument)
            named.extend([value] if isinstance(value, str) else value or [])
        return tuple(dict.fromkeys([*named, *_condition_columns(self.kwargs.get("row_condition"))]))


@dataclass(frozen=True)
class Suite:
    """A suite.

    Args:
        expectations: In order.
        raw: The JSON it was read from.
        own: The type of each expectation that its project defines -> the file that does.
        own_code: The hash of these files; empty where there are none.
    """

    name: str
    path: Path
    expectations: tuple[Expectation, ...]
    raw: Mapping[str, Any]
    own: Mapping[str, Path] = field(default_factory=dict)
    own_code: str = ""

    @property
    def project(self) -> GxProject:
        return project_of(self.path)

    @property
    def hash(self) -> str:
        """Changes when the suite or the code that it names was fixed, not when it was formatted."""
        canonical = json.dumps(self.raw, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256((canonical + self.own_code).encode()).hexdigest()

    def of_scope(self, scope: Scope) -> tuple[Expectation, ...]:
        return tuple(e for e in self.expectations if e.scope == scope)

    def without_row_counts(self) -> "Suite":
        """The suite for rows of many deliveries, to which the size of one does not apply.

        A row count of the scope `table` stays.
        """
        kept = (e for e in self.expectations if e.scope == "table" or e.type not in ROW_COUNTS)
        return replace(self, expectations=tuple(kept))


def load_suite(path: Path) -> Suite:
    """Read a suite.

    Args:
        path: Such as `expectations/suites/shop_orders.json`.

    Raises:
        SuiteError: there is no such file, or it is not a suite; or its project's settings, which
            say where expectations of its own are, cannot be read.
    """
    try:
        raw = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise SuiteError(
            f"There is no suite {path}.",
            remedy="Write one there, or name another in the spec's gate.suite, or none.",
            path=path,
        ) from error
    except (ValueError, RecursionError) as error:
        raise SuiteError(f"{path} is not JSON: {error}.", remedy="Fix it.", path=path) from error
    if not isinstance(raw, dict) or not isinstance(raw.get("expectations"), list):
        raise SuiteError(
            f"{path} is not a suite: it has no list of expectations.",
            remedy="Save it with Great Expectations: context.suites.add(suite).",
            path=path,
        )
    if raw.get("name") != path.stem:
        # Great Expectations finds a suite by its name in the file of that name.
        raise SuiteError(
            f"{path} holds a suite named '{raw.get('name')}'.",
            remedy=f"Name it '{path.stem}', or rename the file.",
            path=path,
        )
    expectations = tuple(_expectation(path, item) for item in raw["expectations"])
    if not expectations and path != NO_SUITE:
        raise SuiteError(
            f"{path} expects nothing, so it would let everything through.",
            remedy="Add an expectation, or say gate: {suite: none} in the spec.",
            path=path,
        )
    own = _own(path, {one.type for one in expectations})
    return Suite(raw["name"], path, expectations, raw, own, hash_of_plugins(own.values()))


def _own(path: Path, types: Collection[str]) -> Mapping[str, Path]:
    """The types that Great Expectations does not ship, and the files that define them."""
    shipped = known_expectations()
    wanted = set(types) - set(shipped)
    if not shipped or not wanted:
        return {}
    project = project_of(path)
    try:
        defined = project.own_expectations()
    except ValueError as error:
        raise SuiteError(
            f"{project.file} cannot be read: {error}.", remedy="Fix it.", path=project.file
        ) from error
    return {kind: file for kind, file in defined.items() if kind in wanted}


def _expectation(path: Path, raw: Any) -> Expectation:
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise SuiteError(f"{path} holds an expectation without type.", remedy="Fix it.", path=path)
    kind = raw["type"]
    severity: Any = raw.get("severity") or "critical"
    if severity not in get_args(Severity):
        raise SuiteError(
            f"{path}: {kind} has the severity '{severity}'.",
            remedy=f"Use one of {', '.join(get_args(Severity))}.",
            path=path,
            expectation=kind,
        )
    scope = (raw.get("meta") or {}).get("scope", "increment")
    if scope not in get_args(Scope):
        raise SuiteError(
            f"{path}: {kind} has the scope '{scope}' in its meta.",
            remedy="Leave it out, or use 'table' to judge it with the published rows.",
            path=path,
            expectation=kind,
        )
    kwargs = raw.get("kwargs") or {}
    called = next(filter(None, map(java_call, _sql_of(kwargs))), None)
    if called is not None:
        raise SuiteError(
            f"{path}: {kind} calls {called}(), which could run any method of Java.",
            remedy="Compute it in the transform, and expect something of the column.",
            path=path,
            expectation=kind,
        )
    return Expectation(kind, kwargs, severity, scope, raw)


def _sql_of(kwargs: Mapping[str, Any]) -> Iterator[str]:
    """The arguments that Spark would run: conditions as text, and queries."""
    for name, value in kwargs.items():
        if isinstance(value, str) and (name == "row_condition" or "query" in name):
            yield value


def _condition_columns(condition: Any) -> list[str]:
    if not isinstance(condition, Mapping):
        return []
    nested = [name for part in condition.get("conditions", ()) for name in _condition_columns(part)]
    column = condition.get("column")
    name = column.get("name") if isinstance(column, Mapping) else column
    return [*nested, *([name] if isinstance(name, str) else [])]
