"""HTML from templates: every value is escaped, and only our own style and script may act."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tidemill.contract.counted import bytes_in_words, counted
from tidemill.reporting.words import ago, share, time_in_words, whole_number
from tidemill_airflow.addresses import airflow_path, page_path, spark_history_url

# Fewer leave room at the right, as in the plot of a measure.
FEWEST_BARS = 14
TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page.

    Args:
        template: A file in `templates/`, which extends `base.html`.
        status: The HTTP status.
        values: What the template names; `now` is the time of the request unless it is given.
    """
    values = {"now": datetime.now(UTC), "status": status, **values}
    page = _environment().get_template(template).render(values)
    return HTMLResponse(page, status, headers=_headers())


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(
        airflow_path=airflow_path, page_path=page_path, style=_inline("page.css"),
        script=_inline("page.js"), bars=bars, spark_history_url=spark_history_url,
    )  # fmt: skip
    found.filters.update(
        ago=ago,
        bytes=bytes_in_words,
        counted=counted,
        number=whole_number,
        share=share,
        time=time_in_words,
    )
    return found


@cache
def _headers() -> dict[str, str]:
    # Pages quote rows. Whoever puts a row into a feed shall not have the reader's browser run a
    # script, style the page, send a form elsewhere or call a server, even if an escape is missing.
    policy = (
        "default-src 'none'",
        f"style-src '{_hash('page.css')}'",
        f"script-src '{_hash('page.js')}'",
        "img-src 'self' data:",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
    )
    return {
        "Cache-Control": "private, no-store",
        "Content-Security-Policy": "; ".join(policy),
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }


def bars(values: Sequence[float], width: float, height: float) -> list[dict[str, float]]:
    """The rectangles of a bar chart in SVG, the greatest as high as the chart; 0 has none."""
    step = width / max(len(values), FEWEST_BARS)
    greatest = max(values, default=0) or 1
    return [
        {
            "x": round(number * step, 2),
            "y": round(height - height * value / greatest, 2),
            "width": round(step * 0.8, 2),
            "height": round(height * value / greatest, 2),
        }
        for number, value in enumerate(values)
        if value > 0
    ]


def _inline(file: str) -> Markup:
    """A file of ours as it stands in the page."""
    return Markup(_text(file))  # noqa: S704 # our own file


@cache
def _text(file: str) -> str:
    return (TEMPLATES / file).read_text(encoding="utf-8")


def _hash(file: str) -> str:
    return f"sha256-{b64encode(sha256(_text(file).encode()).digest()).decode()}"
