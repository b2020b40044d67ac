"""Compares two states of a project, pipeline by pipeline, without a root and without a JVM."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tidemill.compatibility.change import Change, Judge, Verdict
from tidemill.compatibility.code_hash import hash_of_code
from tidemill.compatibility.creation_snapshot import print_of
from tidemill.compatibility.spec_changes import spec_changes
from tidemill.contract.errors import SpecError
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.project import Project, is_left_out, search_path
from tidemill.gate.suite import SuiteError, load_suite
from tidemill.spec.catalog import SpecFile, paths_of, pipelines_in
from tidemill.spec.effective import effective
from tidemill.spec.pipeline_files import suite_file, transform_file
from tidemill.spec.spec import NONE, Spec
from tidemill.steps.read_only.against.git_state import state_of

WORST = (Verdict.ALLOWED, Verdict.CONSEQUENCES, Verdict.NOT_ALLOWED)
OF_A_VARIABLE = "what the variable stands for is told by itself"
Fate = Literal["added", "removed", "changed", "unreadable"]


@dataclass(frozen=True)
class Touched:
    """A pipeline that differs between two states.

    Args:
        fate: `unreadable` where its spec does not load today.
        changes: Each change of its spec and files, and what it means for its checkpoint.
        trouble: What is wrong with a spec of it; empty where both load.
    """

    pipeline: str
    fate: Fate
    changes: tuple[Change, ...] = ()
    trouble: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst of all changes."""
        return max((one.verdict for one in self.changes), key=WORST.index, default=WORST[0])


def compare_with(ref: str, environ: Mapping[str, str] = os.environ) -> list[Touched]:
    """The pipelines of the user's projects that differ from an earlier state, by name.

    Args:
        ref: A commit, branch or tag of git.
        environ: Where the variables that specs declare are looked up; one that is not set is
            the same in both states.

    Raises:
        NoSuchState: git has no such state of a project.
    """
    touched: list[Touched] = []
    for project in search_path(environ):
        if not is_left_out(project, environ):
            with state_of(project.home, ref) as before:
                touched.extend(_touched(Project(before), project, environ))
    return sorted(touched, key=lambda one: one.pipeline)


def _touched(before: Project, after: Project, environ: Mapping[str, str]) -> Iterator[Touched]:
    was, now = _pipelines(before), _pipelines(after)
    others = [one for one in search_path(environ) if one != after]
    for name in was.keys() | now.keys():
        if name not in now:
            yield Touched(name, "removed")
        elif name not in was:
            yield Touched(name, "added")
        else:
            try:
                today = _State(now[name], others, environ)
            except SpecError as error:
                yield Touched(name, "unreadable", trouble=f"{error.what} {error.remedy}")
                continue
            try:
                changes = tuple(_changes(_State(was[name], others, environ), today))
            except SpecError:
                yield Touched(name, "changed", trouble="Its spec did not load before.")
                continue
            if changes:
                yield Touched(name, "changed", changes)


def _pipelines(project: Project) -> dict[str, SpecFile]:
    return {one.name: one for path in paths_of(project) for one in pipelines_in(project, path)}


class _State:
    """A pipeline in one of the two states.

    Args:
        others: Further projects, which are the same in both.
    """

    def __init__(
        self, file: SpecFile, others: Sequence[Project], environ: Mapping[str, str]
    ) -> None:
        self.name = file.name
        self.fields = effective(file.path, file.name, environ).values
        self.spec: Spec = file.load({**_unset(self.fields), **environ})
        self.transform = _content(transform_file(file.name, self.spec, file.project, others))
        suite = suite_file(file.name, self.spec, file.project, others)
        self.suite = _content(suite)
        self.own_expectations = _own_code(suite)


def _unset(fields: Mapping[str, Any]) -> dict[str, str]:
    """A value for each variable that a spec declares without one."""
    declared = fields.get("env")
    names = declared if isinstance(declared, dict) else {}
    return {name: f"/{name}" for name, value in names.items() if value is None}


def _content(path: Path) -> tuple[str, bytes]:
    return path.suffix, path.read_bytes() if path.is_file() else b""


def _own_code(suite: Path) -> str:
    """The hash of the code of expectations of the user's own; one that does not load has none."""
    try:
        return load_suite(suite).own_code
    except SuiteError:
        return ""


def _changes(was: _State, now: _State) -> Iterator[Change]:
    judge = Judge(now.name, _class_of(now.spec), published=now.spec.published)
    prints = (print_of(one.spec, one.transform[1], one.transform[0]) for one in (was, now))
    binding = spec_changes(judge, *prints)
    yield from binding
    told = {change.field for change in binding}
    before, after = _flat(was.fields), _flat(now.fields)
    for field in sorted(before.keys() | after.keys()):
        if before.get(field) != after.get(field) and not _is_told(field, told):
            means = OF_A_VARIABLE if field.startswith("env.") else "no checkpoint depends on it"
            yield judge.allowed(field, before.get(field), after.get(field), means)
    yield from _of_files(judge, was, now)


def _of_files(judge: Judge, was: _State, now: _State) -> Iterator[Change]:
    codes = [hash_of_code(code, suffix) for suffix, code in (was.transform, now.transform)]
    if codes[0] != codes[1]:
        yield judge.consequences(
            "transform",
            codes[0][:12],
            codes[1][:12],
            "whether the checkpoint goes on with it, Spark's plans say",
            f"With the pipeline's root: tidemill plan {judge.pipeline}",
        )
    means = "what is published stays so; the next increments are judged by it"
    if was.suite[1] != now.suite[1] and _as_json(was.suite[1]) != _as_json(now.suite[1]):
        yield judge.allowed("gate.suite", "its file", "another content", means)
    if was.own_expectations != now.own_expectations:
        before, after = (one.own_expectations[:12] or None for one in (was, now))
        yield judge.allowed("expectations of your own", before, after, means)


def _class_of(spec: Spec) -> PipelineClass:
    """Only Spark knows what a transform keeps: without it one is taken to keep state."""
    return PipelineClass.MAP if spec.transform == NONE else PipelineClass.ORDERED


def _flat(values: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found |= _flat(value, f"{at}{key}.")
        else:
            found[f"{at}{key}"] = value
    return found


def _is_told(field: str, told: set[str]) -> bool:
    """Whether a change that is told already is of this field, of its parts or of its whole."""
    if field.startswith("event_time"):
        # It is told of each source.
        return any(".event_time" in one for one in told)
    return any(
        f"{one}.".startswith(f"{field}.") or f"{field}.".startswith(f"{one}.") for one in told
    )


def _as_json(content: bytes) -> Any:
    try:
        return json.loads(content or b"null")
    except ValueError:
        return content
