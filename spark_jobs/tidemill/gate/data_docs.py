"""The Data Docs of a pipeline, which keep a limited number of results.

Only `judge()` imports this module, because importing Great Expectations costs seconds.
"""

import json
import logging
import os
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import great_expectations as gx  # noqa: TID253 - see the module's docstring
from great_expectations.core.expectation_validation_result import (  # noqa: TID253
    ExpectationSuiteValidationResult,
)
from great_expectations.data_context.data_context.abstract_data_context import (  # noqa: TID253
    AbstractDataContext,
)
from great_expectations.data_context.types.base import DataContextConfig  # noqa: TID253

from tidemill.contract.errors import TidemillError
from tidemill.gate import docs_view
from tidemill.gate.gx_internals.data_docs_sites import page_address
from tidemill.gate.gx_internals.page_renderers import IndexView
from tidemill.gate.gx_internals.stores import ResultStore, result_key, suite_key
from tidemill.gate.site_folder import on_disk
from tidemill.gate.suite import Suite

KEPT_PAGES = 50
BATCH = "increment"

log = logging.getLogger(__name__)


def run_identifier(run_name: str, at: datetime) -> gx.RunIdentifier:
    return gx.RunIdentifier(run_name=run_name, run_time=at)


def write_result(result: ExpectationSuiteValidationResult, folder: Path) -> Path:
    """Great Expectations' result of this run, beside the run's report."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "validation.json"
    document = result.to_json_dict()  # type: ignore[no-untyped-call]
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return path


def write_page(suite: Suite, result: ExpectationSuiteValidationResult, docs: Path) -> Path | None:
    """The page of this validation, with index and suite; older pages beyond the limit go.

    Args:
        docs: The site; the results that its pages are made of are in its `results/`.

    Returns:
        The page, or None where it could not be written: docs never change a verdict.
    """
    try:
        with on_disk(docs) as folder:
            page = _rendered(suite, result, folder)
    except (OSError, TidemillError) as error:
        log.warning("No data docs page was written to %s: %s", docs, error)
        return None
    if page is None:
        log.warning("Great Expectations could not render a data docs page in %s", docs)
        return None
    return docs / page


def _rendered(suite: Suite, result: ExpectationSuiteValidationResult, folder: Path) -> Path | None:
    """The page as Great Expectations writes it, below the site's folder; None without one."""
    key = result_key(suite.name, result.meta["run_id"], BATCH)
    site = _open_site(folder)
    site.suites.add(gx.ExpectationSuite(**{**suite.raw, "id": None}))
    store = ResultStore(site)
    store.put(key, result)
    for old in sorted(store.keys(), key=lambda one: one.run_id.run_time)[:-KEPT_PAGES]:
        # Building the index removes the pages that have no result any more.
        store.remove(old)
    pages: list[Any] = [key, suite_key(suite.name)]
    site.build_data_docs(resource_identifiers=pages)
    url = page_address(site, key)
    page = None if url is None else Path(unquote(urlsplit(url).path))
    return page.relative_to(folder) if page is not None and page.is_file() else None


def _open_site(docs: Path) -> AbstractDataContext:
    """A context whose results and pages are in the pipeline's own directory."""
    config = DataContextConfig(
        expectations_store_name="expectations_store",
        validation_results_store_name="validation_results_store",
        checkpoint_store_name="checkpoint_store",
        stores={
            "expectations_store": {"class_name": "ExpectationsStore"},
            "validation_results_store": {
                "class_name": "ValidationResultsStore",
                "store_backend": _folder(docs / "results"),
            },
            "checkpoint_store": {"class_name": "CheckpointStore"},
            "validation_definition_store": {"class_name": "ValidationDefinitionStore"},
        },
        data_docs_sites={
            "tidemill": {
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "store_backend": _folder(docs),
                "site_index_builder": {
                    "class_name": "DefaultSiteIndexBuilder",
                    "view": _class(IndexView),
                },
                "site_section_builders": {
                    "expectations": _rendered_by("SuitePage"),
                    # By default a run with "profiling" in its name gets no page.
                    "validations": {
                        "run_name_filter": {"not_includes": "/"},
                        **_rendered_by("ResultsPage"),
                    },
                    "profiling": "None",
                },
            }
        },
        analytics_enabled=False,
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def as_text_only(site: dict[str, Any]) -> None:
    """Have a site of the user's show values of rows as text, unless it has renderers of its own.

    Args:
        site: Its configuration, which is changed.
    """
    sections = site.get("site_section_builders") or {}
    for name, renderer in (("expectations", "SuitePage"), ("validations", "ResultsPage")):
        section = sections.get(name, {})
        if isinstance(section, dict) and not section.keys() & {"renderer", "view"}:
            sections[name] = {**section, **_rendered_by(renderer)}
    site["site_section_builders"] = sections


def _rendered_by(renderer: str) -> dict[str, Any]:
    """The configuration that renders a section of the site.

    Args:
        renderer: A class of `docs_view`.
    """
    renders = {"module_name": docs_view.__name__, "class_name": renderer}
    return {"renderer": renders, "view": _class(docs_view.PageView)}


def _class(of: type) -> dict[str, str]:
    return {"module_name": of.__module__, "class_name": of.__name__}


def _folder(path: Path) -> dict[str, Any]:
    return {
        "class_name": "TupleFilesystemStoreBackend",
        "base_directory": os.fspath(path),
        "suppress_store_backend_id": True,
    }
