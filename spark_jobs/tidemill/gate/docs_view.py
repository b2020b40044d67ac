"""Data Docs pages that show every value of a row as text, never as markup.

Great Expectations escapes some of what it quotes and leaves sample values, observed values and
column names as they are. So the characters that mean something in HTML are exchanged, before it
renders, for private ones that no step of it looks at; in the finished page each of these becomes
the entity of the character that it stands for. The results on disk stay as they are.

Only `data_docs` imports this module, because importing Great Expectations costs seconds.
"""

import copy
from typing import Any

from great_expectations.core.expectation_validation_result import (  # noqa: TID253
    ExpectationSuiteValidationResult,
)
from great_expectations.expectations.expectation_configuration import (  # noqa: TID253
    ExpectationConfiguration,
)
from great_expectations.render.components import RenderedDocumentContent  # noqa: TID253
from great_expectations.render.renderer.page_renderer import (  # noqa: TID253
    ExpectationSuitePageRenderer,
    ValidationResultsPageRenderer,
)
from great_expectations.render.view.view import DefaultJinjaPageView  # noqa: TID253

from tidemill.contract.docs_policy import DIRECTIVES

# `$` and braces mean something in Great Expectations' templates, the others in HTML.
MARKUP = "<>&\"'`$={}"
# The end of Unicode's private plane 16, which no font and hardly any data uses.
_FIRST = 0x10FF00
_TO_PRIVATE = {ord(char): _FIRST + at for at, char in enumerate(MARKUP)}
_TO_ENTITY = {_FIRST + at: f"&#{ord(char)};" for at, char in enumerate(MARKUP)}
_POLICY = f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(DIRECTIVES)}">'


class ResultsPage(ValidationResultsPageRenderer):
    """The page of one validation."""

    def render(
        self, validation_results: ExpectationSuiteValidationResult, suite_parameters: Any = None
    ) -> RenderedDocumentContent:
        quoted = copy.deepcopy(validation_results)
        for one in quoted.results:
            one.result = as_text(one.result)
            one.exception_info = as_text(one.exception_info)
            if one.expectation_config is not None:
                one.expectation_config.kwargs = as_text(one.expectation_config.kwargs)
        page: RenderedDocumentContent = super().render(quoted, suite_parameters)
        return page


class SuitePage(ExpectationSuitePageRenderer):
    """The page of a suite."""

    @staticmethod
    def _get_grouped_and_ordered_expectations_by_column(
        expectation_suite: Any,
    ) -> tuple[dict[str, list[ExpectationConfiguration]], list[str]]:
        base = ExpectationSuitePageRenderer
        columns, order = base._get_grouped_and_ordered_expectations_by_column(expectation_suite)
        for expectation in (one for group in columns.values() for one in group):
            expectation.kwargs = as_text(expectation.kwargs)
        return columns, order


class PageView(DefaultJinjaPageView):
    """A finished page: private characters as entities, and the policy at its head."""

    def render(self, document: Any, template: Any = None, **kwargs: Any) -> str:
        page: str = super().render(document, template, **kwargs)  # type: ignore[no-untyped-call]
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
