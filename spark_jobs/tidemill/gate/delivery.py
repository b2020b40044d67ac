"""Gives a verdict to the user's Great Expectations project: its stores, Data Docs and actions.

Great Expectations reads the project itself. Nothing here changes a verdict: what cannot be given is
said, and the rest is given all the same. Only the step `gate` imports this module, because
importing Great Expectations costs seconds.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import great_expectations as gx  # noqa: TID253 - see the module's docstring
from great_expectations.checkpoint.actions import (  # noqa: TID253
    ActionContext,
    UpdateDataDocsAction,
)
from great_expectations.checkpoint.checkpoint import Checkpoint, CheckpointResult  # noqa: TID253
from great_expectations.core.expectation_validation_result import (  # noqa: TID253
    ExpectationSuiteValidationResult,
)
from great_expectations.data_context.data_context.file_data_context import (  # noqa: TID253
    FileDataContext,
)

from tidemill.gate import validation
from tidemill.gate.attempts import Attempts
from tidemill.gate.data_docs import as_text_only, run_identifier
from tidemill.gate.gx_internals.data_docs_sites import run_action, site_names, site_settings
from tidemill.gate.gx_internals.stores import CheckpointStore, ResultStore, read_result, result_key
from tidemill.gate.plugins import import_plugins
from tidemill.gate.suite import Suite


class Delivery:
    """One verdict on its way to a project.

    Args:
        suite: It was judged by; its project receives the verdict.
        name: The pipeline and the increment, as one word.
        run_name: The run's id, without characters that a file's name cannot have.
        judged: When.
        held: The reasons to hold the increment; none where it passed.
        result: Great Expectations' own result; None where no row could be judged.
    """

    def __init__(
        self,
        suite: Suite,
        name: str,
        run_name: str,
        judged: datetime,
        *,
        held: tuple[str, ...],
        result: Path | None,
    ) -> None:
        self._suite = suite
        self._run = run_identifier(run_name, judged)
        self._key = result_key(suite.name, self._run, name)
        self._attempts = Attempts()
        self._held = held
        self._file = result

    def deliver(self) -> tuple[str, ...]:
        """Store the result, build each site, and run the actions of the suite's checkpoints.

        Returns:
            What could not be done, one sentence each.
        """
        project, attempts = self._suite.project, self._attempts
        plugins = project.plugins()
        for path in project.plugin_files():
            attempts.make(f"plugin {path.name}", partial(import_plugins, plugins, [path]))
        context = attempts.make("project", lambda: _open(project.folder))
        result = attempts.make("result", self._read)
        if context is not None and result is not None:
            self._give_to(context, result)
        return attempts.missed

    def _give_to(self, context: FileDataContext, result: ExpectationSuiteValidationResult) -> None:
        store = ResultStore(context)
        sites = site_names(context)
        stored = self._attempts.make(
            "validation_results_store", partial(store.put, self._key, result)
        )
        done = ActionContext()
        for site in sites:
            update = UpdateDataDocsAction(name=f"data docs site {site}", site_names=[site])
            if stored is not None:
                self._attempts.make(update.name, partial(self._page, update, result, done))
            else:
                self._attempts.miss(update.name, "the store did not take the result")
        for checkpoint in self._checkpoints(context):
            told = self._as_of(checkpoint, result)
            for action in checkpoint.actions:
                # The sites are up to date already.
                if type(action) is not UpdateDataDocsAction:
                    name = f"action {action.name} of checkpoint {checkpoint.name}"
                    self._attempts.act(name, partial(run_action, action, told, done))

    def _read(self) -> ExpectationSuiteValidationResult:
        if self._file is None:
            result = validation.merged(self._suite, validation.Validated((), 0), {})
        else:
            result = read_result(json.loads(self._file.read_bytes()))
        result.success = bool(result.success) and not self._held
        result.meta |= {"run_id": self._run, "reasons": list(self._held)}
        return result

    def _page(
        self,
        update: UpdateDataDocsAction,
        result: ExpectationSuiteValidationResult,
        done: ActionContext,
    ) -> None:
        checkpoint = Checkpoint(name=self._suite.name, validation_definitions=[])
        said = run_action(update, self._as_of(checkpoint, result), done)
        # Great Expectations logs what it cannot render, and goes on.
        if not said[self._key].keys() & set(update.site_names):
            msg = "no page was rendered"
            raise RuntimeError(msg)

    def _as_of(
        self, checkpoint: Checkpoint, result: ExpectationSuiteValidationResult
    ) -> CheckpointResult:
        """The result as one of a checkpoint, which is what an action is given."""
        return CheckpointResult(
            run_id=self._run,
            run_results={self._key: result},
            checkpoint_config=checkpoint,
            success=result.success,
        )

    def _checkpoints(self, context: FileDataContext) -> Iterator[Checkpoint]:
        """The checkpoints that validate the suite, and the one that has its name."""
        store, suite = CheckpointStore(context), self._suite.name
        keys = self._attempts.make("checkpoint_store", store.keys) or ()
        for name, key in keys:
            try:
                found = store.get(key)
            except Exception as error:  # noqa: BLE001 - whatever its data sources raise
                # One that cannot be read is missed where it is known to be of this suite.
                if name == suite:
                    self._attempts.miss(f"checkpoint {name}", error)
                continue
            if not isinstance(found, Checkpoint):
                continue
            if name == suite or any(v.suite.name == suite for v in found.validation_definitions):
                yield found


def _open(folder: Path) -> FileDataContext:
    """The project; its pages show values of rows as text, never as markup, as ours do."""
    context = gx.get_context(mode="file", context_root_dir=folder)
    for site in site_settings(context).values():
        as_text_only(site)
    return context
