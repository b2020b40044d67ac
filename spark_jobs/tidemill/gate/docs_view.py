"""Data Docs pages that show every value of a row as text, never as markup.

Great Expectations escapes some of what it quotes and leaves sample values, observed values and
column names as they are. So the characters that mean something in HTML are exchanged, before it
renders, for private ones that no step of it looks at; in the finished page each of these becomes
the entity of the character that it stands for. The results on disk stay as they are.

Only `data_docs` imports this module, because importing Great Expectations costs seconds.
"""

from typing import Any

from tidemill.contract.docs_policy import DIRECTIVES
from tidemill.gate.gx_internals.page_renderers import ResultsRenderer, SuiteRenderer, View

# `$` and braces mean something in Great Expectations' templates, the others in HTML.
MARKUP = "<>&\"'`$={}"
# The end of Unicode's private plane 16, which no font and hardly any data uses.
_FIRST = 0x10FF00
_TO_PRIVATE = {ord(char): _FIRST + at for at, char in enumerate(MARKUP)}
_TO_ENTITY = {_FIRST + at: f"&#{ord(char)};" for at, char in enumerate(MARKUP)}
_POLICY = f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(DIRECTIVES)}">'


class ResultsPage(ResultsRenderer):
    """The page of one validation."""

    def shown(self, value: Any) -> Any:
        return as_text(value)


class SuitePage(SuiteRenderer):
    """The page of a suite."""

    @staticmethod
    def shown(value: Any) -> Any:
        return as_text(value)


class PageView(View):
    """A finished page: private characters as entities, and the policy at its head."""

    def finished(self, page: str) -> str:
        return page.translate(_TO_ENTITY).replace("<head>", f"<head>\n    {_POLICY}", 1)


def as_text(value: Any) -> Any:
    """A value of a result or of an expectation, in which no character means anything in HTML."""
    if isinstance(value, str):
        return value.translate(_TO_PRIVATE)
    if isinstance(value, dict):
        return {as_text(key): as_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [as_text(item) for item in value]
    return value
