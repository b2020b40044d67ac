"""A small spec as text, to be changed by tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidemill.spec.load import parse_spec
from tidemill.spec.spec import Spec

PATH = Path("/projects/dags/specs/orders.yaml")

MINIMAL = """\
sources:
  orders:
    kind: file
    format: csv
    path: /in/orders
    schema: id string, amount decimal(10,2), at timestamp
event_time:
  column: at
"""


def parse(text: str, environ: Mapping[str, str] | None = None) -> Spec:
    """A spec as if `text` stood in `PATH`."""
    return parse_spec(text, path=PATH, environ=environ or {})


def minimal(more: str = "", *, replace: Mapping[str, str] | None = None) -> str:
    """The smallest spec with texts in it replaced, and `more` after it."""
    text = MINIMAL
    for old, new in (replace or {}).items():
        assert old in text
        text = text.replace(old, new)
    return text + more
