"""`tidemill.yaml` at a project's root: what holds for all of its pipelines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidemill.contract.objects.object_path import path_of
from tidemill.spec.complaints import Location, refusal
from tidemill.spec.origins import Layer
from tidemill.spec.yaml_text import YamlText, read_yaml

FORMAT = 1
PROFILE = "TIDEMILL_PROFILE"
KEYS = ("tidemill", "root", "defaults", "profiles", "variables")
OF_A_PROFILE = ("defaults", "variables")


@dataclass(frozen=True)
class ProjectFile:
    """The settings of a project; one without a file has none.

    Args:
        root: The folder of all pipelines' data, for which `TIDEMILL_ROOT` is not set.
        defaults: What holds for every spec unless it says otherwise, those of the profile last.
        variables: Name -> value, for `${name}` in specs.
    """

    root: Path | None = None
    defaults: tuple[Layer, ...] = ()
    variables: Mapping[str, Any] | None = None


def read_project_file(path: Path, profile: str | None = None) -> ProjectFile:
    """A project's settings.

    Args:
        path: `tidemill.yaml`, which need not be there.
        profile: What `TIDEMILL_PROFILE` says.

    Raises:
        SpecError: it cannot be read, or holds what is not known, or lacks the profile.
    """
    if not path.is_file():
        return ProjectFile()
    text = read_yaml(path)
    if text.document is None:
        return ProjectFile()
    document = _mapping(path, text, (), KEYS)
    if document.get("tidemill", FORMAT) != FORMAT:
        what = f"is the format of this file, of which only {FORMAT} is known"
        remedy = f"Set it to {FORMAT}, or install a newer Tidemill."
        raise refusal(path, text.lines["tidemill",], "tidemill", what, remedy)
    profiles = _mapping(path, text, ("profiles",))
    for name in profiles:
        _mapping(path, text, ("profiles", name), OF_A_PROFILE)
    parts: list[Location] = [()]
    if profile and profiles:
        if profile not in profiles:
            what = f"has no '{profile}', which {PROFILE} names"
            remedy = _near(profile, profiles)
            raise refusal(path, text.lines["profiles",], "profiles", what, remedy)
        parts.append(("profiles", profile))
    variables: dict[str, Any] = {}
    layers = []
    for part in parts:
        variables |= _mapping(path, text, (*part, "variables"))
        below = (*part, "defaults")
        layers.append(Layer.of(_mapping(path, text, below), text.lines, path, below))
    return ProjectFile(_root(path, text), tuple(layers), variables)


def _mapping(
    path: Path, text: YamlText, at: Location, known: Iterable[str] | None = None
) -> Mapping[str, Any]:
    """The mapping at a place of the file; empty where it is not there."""
    value = text.document
    for key in at:
        value = value.get(key) if isinstance(value, dict) else None
    if value is None:
        return {}
    field = ".".join(map(str, at)) or None
    if not isinstance(value, dict):
        remedy = f"Known: {', '.join(known or KEYS)}."
        raise refusal(path, text.lines.get(at), field, "is not a mapping of keys", remedy)
    for key in value:
        if known is not None and key not in known:
            named = ".".join((*at, key))
            remedy = _near(key, known)
            raise refusal(path, text.lines[(*at, key)], named, "is not a known key", remedy)
    return value


def _near(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(known)}."


def _root(path: Path, text: YamlText) -> Path | None:
    given = text.document.get("root")
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise refusal(path, text.lines["root",], "root", "is not text", "Name a folder.")
    return path_of(given) if "://" in given else (path.parent / given).resolve()
