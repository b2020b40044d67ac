"""The Data Docs sites of a data context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from great_expectations.checkpoint.actions import ActionContext, ValidationAction
from great_expectations.checkpoint.checkpoint import CheckpointResult
from great_expectations.data_context.data_context.abstract_data_context import AbstractDataContext
from great_expectations.data_context.data_context.file_data_context import FileDataContext
from great_expectations.data_context.types.resource_identifiers import ValidationResultIdentifier

_CONTEXT = "great_expectations.data_context.data_context.abstract_data_context:AbstractDataContext"
_ACTIONS = "great_expectations.checkpoint.actions"
CALLS = {
    f"{_CONTEXT}.get_docs_sites_urls": ("resource_identifier=",),
    f"{_ACTIONS}:ActionContext.update": ("action", "action_result"),
}
ATTRIBUTES = (
    f"{_CONTEXT}.config",
    f"{_CONTEXT}.variables",
    "great_expectations.data_context.data_context_variables:DataContextVariables.data_docs_sites",
    "great_expectations.data_context.types.base:DataContextConfig.data_docs_sites",
)


def page_address(context: AbstractDataContext, key: ValidationResultIdentifier) -> str | None:
    """The URL of a result's page on the first site; None where no site is there."""
    sites = context.get_docs_sites_urls(resource_identifier=key)
    return sites[0]["site_url"] or "" if sites else None


def site_names(context: FileDataContext) -> list[str]:
    """The names of the sites of a project."""
    return list(context.variables.data_docs_sites or {})


def site_settings(context: FileDataContext) -> Mapping[str, dict[str, Any]]:
    """The settings of the sites of a project, which may be changed before a page is built."""
    return context.config.data_docs_sites or {}


def run_action(
    action: ValidationAction, result: CheckpointResult, done: ActionContext
) -> dict[Any, Any]:
    """Run an action of a checkpoint.

    Args:
        done: What the actions before it returned; what this one returns is added.
    """
    said = action.run(checkpoint_result=result, action_context=done)
    done.update(action, said)
    return said
