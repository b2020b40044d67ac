"""The transform and the suite that a spec names: its own, another pipeline's, or none at all."""

from collections.abc import Iterable
from pathlib import Path

from tidemill.contract.project import Project
from tidemill.spec.spec import NONE, Spec
from tidemill.spec.without import __file__ as _here

# What is run and what is expected where a spec says `none`.
NO_TRANSFORM = Path(_here).with_name("transform.py")
NO_SUITE = Path(_here).with_name("none.json")


def transform_file(name: str, spec: Spec, home: Project, others: Iterable[Project] = ()) -> Path:
    """The file of a pipeline's transform; the one that its own project would hold if there is none.

    Args:
        name: The pipeline.
        home: The project of its spec, which is searched first.
        others: Further projects, in which a transform that the spec names may be.

    Raises:
        TransformDoubled: it is there as Python and as SQL.
    """
    if spec.transform == NONE:
        return NO_TRANSFORM
    if spec.transform is None:
        return home.transform(name)
    return _first(home.transform(spec.transform), (p.transform(spec.transform) for p in others))


def suite_file(name: str, spec: Spec, home: Project, others: Iterable[Project] = ()) -> Path:
    """The file of a pipeline's suite, found in the same way."""
    if spec.gate.suite == NONE:
        return NO_SUITE
    if spec.gate.suite is None:
        return home.suite(name)
    return _first(home.suite(spec.gate.suite), (p.suite(spec.gate.suite) for p in others))


def _first(own: Path, others: Iterable[Path]) -> Path:
    return own if own.is_file() else next((one for one in others if one.is_file()), own)
