"""`tidemill.yaml` at a project's root: what holds for all of its pipelines."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from tidemill.spec.complaints import refusal
from tidemill.spec.load import lines_of

FORMAT = 1
KEYS = ("tidemill", "root")


@dataclass(frozen=True)
class ProjectFile:
    """The settings of a project; one without a file has none.

    Args:
        root: The folder of all pipelines' data, for which `TIDEMILL_ROOT` is not set.
    """

    root: Path | None = None


def read_project_file(path: Path) -> ProjectFile:
    """A project's settings.

    Args:
        path: `tidemill.yaml`, which need not be there.

    Raises:
        SpecError: it cannot be read, or holds what is not known.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ProjectFile()
    except (OSError, UnicodeDecodeError) as error:
        what = f"cannot be read ({error})"
        raise refusal(path, None, None, what, "Check the file and its permissions.") from error
    lines = lines_of(text, path)
    document = yaml.safe_load(text)
    if document is None:
        return ProjectFile()
    if not isinstance(document, dict):
        raise refusal(
            path, 1, None, "is not a mapping of keys to values", f"Known: {', '.join(KEYS)}."
        )
    for key in document:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            remedy = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(KEYS)}."
            raise refusal(path, lines[key,], key, "is not a known key", remedy)
    if document.get("tidemill", FORMAT) != FORMAT:
        what = f"is the format of this file, of which only {FORMAT} is known"
        remedy = f"Set it to {FORMAT}, or install a newer Tidemill."
        raise refusal(path, lines["tidemill",], "tidemill", what, remedy)
    return ProjectFile(root=_root(path, document.get("root"), lines))


def _root(path: Path, given: Any, lines: dict[tuple[Any, ...], int]) -> Path | None:
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise refusal(path, lines["root",], "root", "is not text", "Name a folder.")
    if "://" in given:
        return Path(given)
    return (path.parent / given).resolve()
