"""What is wrong with the pipelines whose tables one reads: missing, unfit, or in a circle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidemill.contract.errors import TidemillError, UsageError
from tidemill.spec.catalog import find
from tidemill.spec.complaints import Location
from tidemill.spec.output import OutputMode
from tidemill.spec.spec import Spec
from tidemill.spec.targets import DeltaTarget


def problems_of_chains(
    name: str, spec: Spec, environ: Mapping[str, str]
) -> Iterator[tuple[Location, str, str]]:
    """Where a spec names another pipeline, what is wrong with it, and what to do.

    Args:
        name: The pipeline of the spec.
    """
    for field, upstream in spec.tables_read.items():
        part, _, own = field.partition(".")
        for what, remedy in _problems(name, upstream, part, environ):
            yield (part, own, "pipeline"), f"{field} {what}", remedy


def _problems(
    name: str, upstream: str, part: str, environ: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    if upstream == name:
        yield "is the table of this very pipeline", "Name another pipeline."
        return
    try:
        find(upstream, environ)
    except UsageError as error:
        yield f"names no pipeline: {error.what[:-1]}", error.remedy
        return
    spec = _spec_of(upstream, environ)
    if spec is None:
        return
    if not spec.published or not any(isinstance(one, DeltaTarget) for one in spec.publish):
        yield f"needs a Delta table, and '{upstream}' publishes none", "Add {kind: delta} there."
        return
    if part == "sources" and spec.output.mode is not OutputMode.APPEND:
        what = (
            f"reads rows that increments add, and '{upstream}' changes rows "
            f"(output mode {spec.output.mode})"
        )
        yield what, "Read it under statics, where each run sees the table as it is."
    circle = _circle(name, upstream, environ)
    if circle:
        yield f"closes a circle: {' reads '.join(circle)}", "Take one of them out of it."


def _circle(name: str, upstream: str, environ: Mapping[str, str]) -> list[str]:
    """The pipelines from one back to itself by what they read; none where it does not come back."""
    paths, seen = [[name, upstream]], {upstream}
    while paths:
        path = paths.pop()
        for further in _upstreams(path[-1], environ):
            if further == name:
                return [*path, name]
            if further not in seen:
                seen.add(further)
                paths.append([*path, further])
    return []


def _upstreams(name: str, environ: Mapping[str, str]) -> list[str]:
    spec = _spec_of(name, environ)
    return [] if spec is None else [*spec.tables_read.values()]


def _spec_of(name: str, environ: Mapping[str, str]) -> Spec | None:
    """A pipeline's spec; None where it does not load, which is said of that pipeline."""
    try:
        return find(name, environ).load(environ)
    except TidemillError:
        return None
