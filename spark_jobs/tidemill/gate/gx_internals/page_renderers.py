"""The renderers of Data Docs pages, with a place where what they show can be changed."""

import copy
from types import CodeType
from typing import Any

from great_expectations.core.expectation_validation_result import ExpectationSuiteValidationResult
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.render.components import RenderedDocumentContent
from great_expectations.render.renderer.page_renderer import (
    ExpectationSuitePageRenderer,
    ValidationResultsPageRenderer,
)
from great_expectations.render.view.view import DefaultJinjaIndexPageView, DefaultJinjaPageView
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

_RENDERERS = "great_expectations.render.renderer.page_renderer"
_SUITE = f"{_RENDERERS}:ExpectationSuitePageRenderer"
_CONFIGURATION = (
    "great_expectations.expectations.expectation_configuration:ExpectationConfiguration"
)
CALLS = {
    f"{_RENDERERS}:ValidationResultsPageRenderer.render": (
        "validation_results",
        "suite_parameters",
    ),
    f"{_SUITE}._get_grouped_and_ordered_expectations_by_column": ("expectation_suite",),
    "great_expectations.render.view.view:DefaultJinjaPageView.render": ("document", "template"),
}
ATTRIBUTES = (
    "great_expectations.render.view.view:DefaultJinjaIndexPageView",
    "great_expectations.render.components:RenderedDocumentContent",
    f"{_CONFIGURATION}.kwargs",
)


class ResultsRenderer(ValidationResultsPageRenderer):
    """The page of one validation."""

    def shown(self, value: Any) -> Any:
        """A value of a result as the page is to have it."""
        return value

    def render(
        self, validation_results: ExpectationSuiteValidationResult, suite_parameters: Any = None
    ) -> RenderedDocumentContent:
        changed = copy.deepcopy(validation_results)
        for one in changed.results:
            one.result = self.shown(one.result)
            one.exception_info = self.shown(one.exception_info)
            if one.expectation_config is not None:
                one.expectation_config.kwargs = self.shown(one.expectation_config.kwargs)
        page: RenderedDocumentContent = super().render(changed, suite_parameters)
        return page


class SuiteRenderer(ExpectationSuitePageRenderer):
    """The page of a suite."""

    @staticmethod
    def shown(value: Any) -> Any:
        """An argument of an expectation as the page is to have it."""
        return value

    @classmethod
    def _get_grouped_and_ordered_expectations_by_column(
        cls, expectation_suite: Any
    ) -> tuple[dict[str, list[ExpectationConfiguration]], list[str]]:
        columns, order = super()._get_grouped_and_ordered_expectations_by_column(expectation_suite)
        for expectation in (one for group in columns.values() for one in group):
            expectation.kwargs = cls.shown(expectation.kwargs)
        return columns, order


class CompiledTemplates(BytecodeCache):
    """The templates that this process has compiled.

    Great Expectations would compile them again for each kind of page of each site: a fifth of the
    time that Python takes for a group of ten.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._known.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._known[bucket.key, bucket.checksum] = bucket.code


_COMPILED = CompiledTemplates()


class View(DefaultJinjaPageView):
    """A page as HTML."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.env.bytecode_cache = _COMPILED

    def finished(self, page: str) -> str:
        """The HTML of a page as it is to be written."""
        return page

    def render(self, document: Any, template: Any = None, **kwargs: Any) -> str:
        page: str = super().render(document, template, **kwargs)  # type: ignore[no-untyped-call]
        return self.finished(page)


class IndexView(View, DefaultJinjaIndexPageView):
    """The index of a site as HTML."""
