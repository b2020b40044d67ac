"""A pipeline's effective spec: defaults, the nearest ones last, its file, its row of `each`."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tidemill.contract.errors import SpecError
from tidemill.contract.layout import PIPELINE_NAME
from tidemill.contract.project import PROJECT_FILE
from tidemill.spec.complaints import Location, refusal
from tidemill.spec.each import KEYS, VARIABLE, Row, is_template, rows_of, text_of
from tidemill.spec.origins import Layer, Origin, laid_over
from tidemill.spec.project_file import PROFILE, read_project_file
from tidemill.spec.yaml_text import read_yaml

DEFAULTS = "_defaults.yaml"


@dataclass(frozen=True)
class Effective:
    """A spec as it holds for one pipeline, before the environment has a part in it.

    Args:
        values: With the values of its row and of the project's variables in its texts.
        origins: The origin of each location.
        row: The row of `each`; None for a file of one pipeline.
    """

    values: Mapping[str, Any]
    origins: Mapping[Location, Origin]
    row: str | None


@lru_cache(maxsize=8192)
def home_of(path: Path) -> Path | None:
    """The project that a spec's file belongs to; None for a file that stands elsewhere."""
    specs = next((one for one in path.parents if one.name == "specs"), None)
    return specs.parent.parent if specs is not None and specs.parent.name == "dags" else None


@lru_cache(maxsize=8192)
def folders_of(path: Path) -> tuple[str, ...]:
    """The folders below `dags/specs` that a spec's file is in: its name space."""
    home = home_of(path)
    return () if home is None else path.parent.relative_to(home / "dags" / "specs").parts


def name_of(path: Path) -> str:
    """The name of a file's pipeline, or of its template: `payments/orders.yaml` is
    `payments__orders`.
    """
    return "__".join((*folders_of(path), path.stem))


def files_under(path: Path) -> Iterator[Path]:
    """The files that give a spec its defaults, the farthest first; some may not be there."""
    home = home_of(path)
    if home is None:
        return
    yield home / PROJECT_FILE
    folder = home / "dags" / "specs"
    yield folder / DEFAULTS
    for part in folders_of(path):
        folder /= part
        yield folder / DEFAULTS


def effective(path: Path, name: str, environ: Mapping[str, str] = os.environ) -> Effective:
    """The effective spec.

    Args:
        path: The file that holds the pipeline.
        name: The pipeline, where the file is a template of several.
        environ: For `TIDEMILL_PROFILE`.

    Raises:
        SpecError: a file cannot be read, or what it says of rows, defaults or profiles is wrong.
    """
    row = _row(path, name)
    stamps = tuple(_stamp(one) for one in (path, *files_under(path)))
    if row is None:
        layer, variables = _layers(path, environ.get(PROFILE), stamps)
    else:
        layer, variables = _shared_layers(path, environ.get(PROFILE), stamps)
        layer = _of_row(path, layer, row)
    declared = layer.values.get("env")
    known = {n: v for n, v in variables.items() if n not in (declared or {})}
    if row is not None:
        known |= row.values
    values = _filled(layer.values, known) if known else layer.values
    return Effective(values, layer.origins, row.name if row else None)


def stamp_of(path: Path, environ: Mapping[str, str] = os.environ) -> int:
    """A number that changes with any file that has a part in a spec, and with the profile."""
    files = [one for one in files_under(path) if one.is_file()]
    if is_template(path):
        each = read_yaml(path).document.get("each")
        files.extend([path.parent / each] if isinstance(each, str) else [])
    stamps = [_stamp(one) for one in (path, *files)]
    if not files:
        return stamps[0]
    text = repr((stamps, environ.get(PROFILE))).encode()
    return int.from_bytes(blake2b(text, digest_size=7).digest())


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _row(path: Path, name: str) -> Row | None:
    if not is_template(path):
        if not PIPELINE_NAME.fullmatch(name):
            raise SpecError(
                f"{path}: a spec's file has the pipeline's name, and '{name}' cannot be one.",
                remedy="Use a lower-case letter, then letters, digits and underscores.",
                path=path,
                line=None,
                field=None,
            )
        return None
    space = "".join(f"{one}__" for one in folders_of(path))
    rows = rows_of(path)
    found = rows.get(name.removeprefix(space)) if name.startswith(space) else None
    if found is None:
        line = read_yaml(path).lines["each",]
        known = ", ".join(f"{space}{one}" for one in rows) or "none"
        raise refusal(path, line, "each", f"makes no pipeline '{name}'", f"It makes: {known}.")
    return found


@lru_cache(maxsize=4096)
def _layers(
    path: Path, profile: str | None, _stamps: tuple[int, ...]
) -> tuple[Layer, Mapping[str, Any]]:
    """A file over all its defaults, and the project's variables."""
    home = home_of(path)
    layers: list[Layer] = []
    variables: Mapping[str, Any] = {}
    for file in files_under(path):
        if file.name == PROJECT_FILE and file.parent == home:
            settings = read_project_file(file, profile)
            layers.extend(settings.defaults)
            variables = settings.variables or {}
        elif file.is_file():
            text = read_yaml(file)
            if text.document is not None and not isinstance(text.document, dict):
                remedy = "Write fields of a spec."
                raise refusal(file, 1, None, "is not a mapping of keys", remedy)
            layers.append(Layer.of(text.document or {}, text.lines, file))
    text = read_yaml(path)
    if not isinstance(text.document, dict):
        raise refusal(path, 1, None, "is empty or no mapping", "Start from a shipped spec.")
    own = Layer.of(text.document, text.lines, path)
    return laid_over([*layers, own]), variables


@lru_cache(maxsize=512)
def _shared_layers(
    path: Path, profile: str | None, stamps: tuple[int, ...]
) -> tuple[Layer, Mapping[str, Any]]:
    """What the rows of a template share, without the rows themselves.

    Its transform and its suite are named like the template, unless the spec says otherwise.
    """
    layer, variables = _layers(path, profile, stamps)
    here = Origin(path, layer.origins["each",].line)
    template = name_of(path)
    values: dict[str, Any] = {"transform": template, "gate": {"suite": template}}
    own = dict.fromkeys(((), ("transform",), ("gate",), ("gate", "suite")), here)
    fields = {key: value for key, value in layer.values.items() if key not in KEYS}
    origins = {at: one for at, one in layer.origins.items() if not at or at[0] not in KEYS}
    return laid_over([Layer(values, own), Layer(fields, origins)]), variables


def _of_row(path: Path, layer: Layer, row: Row) -> Layer:
    """What the rows of a template share, as it holds for one of them."""
    origins = {at: Origin(one.path, one.line, row.name) for at, one in layer.origins.items()}
    layers = [Layer(layer.values, origins)]
    if row.changes:
        lines = read_yaml(path).lines
        layers.append(Layer.of(row.changes, lines, path, row.at, row.name))
    return laid_over(layers)


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """Values with `${name}` replaced, for known names; what is a mapping or list stays one."""
    if isinstance(value, dict):
        return {key: _filled(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, known) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value
    whole = VARIABLE.fullmatch(value)
    if whole and isinstance(known.get(whole[1]), dict | list):
        return known[whole[1]]
    return VARIABLE.sub(
        lambda match: text_of(known[match[1]]) if match[1] in known else match[0], value
    )
