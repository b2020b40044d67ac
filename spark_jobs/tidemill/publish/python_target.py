"""A target written by the user: a class in the project or in an installed package."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidemill.contract.errors import SpecError
from tidemill.contract.log import Log
from tidemill.contract.user_code import load_module
from tidemill.journal.journal import Event
from tidemill.publish.payload import Payload
from tidemill.publish.target import SwapUnfit
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.targets import PythonTarget as Given
from tidemill.storage.target_names import name_in_targets


class PythonTarget:
    """What the class that a spec names makes of events; it is looked for at the first one.

    Args:
        log: Gets lines for the task log.
    """

    def __init__(self, given: Given, pipeline: Pipeline, epoch: int, log: Log) -> None:
        self.given = given
        self.pipeline = pipeline
        self.epoch = epoch
        self.log = log
        self._own: Any = None
        self._class: Any = None

    @property
    def name(self) -> str:
        return self.given.name

    def find(self, event: Event) -> int | None:
        if not event.in_order and not self.swaps:
            # It may count batches, and those that a swap stands for are in.
            return None
        found: int | None = self._target().find(event)
        return found

    @property
    def swaps(self) -> bool:
        """Whether the class says that it can put rows in the place of others.

        Raises:
            SpecError: there is no such class.
        """
        return bool(getattr(self._found, "swaps", False))

    def apply(self, event: Event, payload: Payload) -> int:
        if not event.in_order and not self.swaps:
            raise SwapUnfit(
                f"{self.name}: event {event.seq} puts rows in the place of others ({event.kind}), "
                f"and {self.given.target} does not say that it can.",
                remedy="Let it do what `tidemill.publish.target` says of swaps, and declare "
                "`swaps = True` in the class; the next run goes on here.",
                targets=(self.name,),
            )
        return int(self._target().apply(event, payload))

    def _target(self) -> Any:
        if self._own is None:
            self._own = self._found(
                dict(self.given.options),
                pipeline=name_in_targets(self.pipeline.layout),
                epoch=self.epoch,
                say=self.log,
            )
        return self._own

    @property
    def _found(self) -> Any:
        if self._class is None:
            self._class = self._load()
        return self._class

    def _load(self) -> Callable[..., Any]:
        """The class.

        Raises:
            SpecError: there is none, its file does not import, or it lacks a member.
        """
        named, _, class_name = self.given.target.partition(":")
        path = self.pipeline.project.target(named)
        try:
            if path.is_file():
                module = load_module(f"tidemill_target_{path.stem}", path)
            else:
                module = importlib.import_module(named)
        except Exception as error:
            raise self._error(f"does not import ({error!r})", path) from error
        found: Any = getattr(module, class_name, None)
        if not isinstance(found, type):
            raise self._error("is not a class", path)
        missing = [member for member in ("find", "apply") if not hasattr(found, member)]
        if missing:
            raise self._error(f"has no `{missing[0]}`", path)
        return found

    def _error(self, what: str, path: Path) -> SpecError:
        return SpecError(
            f"publish: the target '{self.given.target}' {what}.",
            remedy=f"Write the class in {path} as `tidemill.publish.target` says, or install "
            "its package.",
            path=path,
            field="publish.target",
        )
