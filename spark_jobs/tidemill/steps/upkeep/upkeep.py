"""Upkeep of a pipeline: every command that tidies up, one after the other."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import ExitCode, TidemillError
from tidemill.contract.log import Log
from tidemill.spec.catalog import SpecFile
from tidemill.spec.pipeline import open_pipeline
from tidemill.steps.parts.run import foreseen, unforeseen
from tidemill.steps.upkeep.leftover import Leftover, LeftoversOfKind, by_kind
from tidemill.steps.upkeep.vacuum import plan_vacuum, vacuum
from tidemill.storage.run_context import RunContext

Plan = Callable[[RunContext], list[Leftover]]

# Command -> what it would remove, and what does so, in the order in which they run.
COMMANDS: dict[str, tuple[Plan, Plan]] = {"vacuum": (plan_vacuum, vacuum)}


class Upkept(FrozenModel):
    """What one command of upkeep found in one pipeline.

    Attributes:
        leftovers: What it removed, or would remove.
        error: `TidemillError.as_dict()` where it failed; it then removed nothing, or a part.
        exit_code: As of a command for this pipeline alone.
    """

    pipeline: str
    command: str
    leftovers: tuple[LeftoversOfKind, ...] = ()
    error: dict[str, Any] | None = None
    exit_code: int = int(ExitCode.DONE)


def upkeep(
    pipelines: Iterable[SpecFile],
    commands: Iterable[str],
    run_id: str,
    log: Log,
    *,
    apply: bool,
) -> Iterator[Upkept]:
    """Run commands of upkeep over pipelines; one that fails does not stop the others.

    Args:
        commands: Keys of `COMMANDS`.
        run_id: Under which the leases name this upkeep.
        apply: Whether to remove what is found.
    """
    names = list(commands)
    for one in pipelines:
        for command in names:
            try:
                run = RunContext(open_pipeline(one.name), run_id, log)
                found = COMMANDS[command][int(apply)](run)
            except TidemillError as error:
                yield _failed(one.name, command, error)
            except Exception as error:  # noqa: BLE001 (the next pipeline is not to wait for it)
                named = foreseen(error, one.path) or unforeseen(error)
                yield _failed(one.name, command, named)
            else:
                yield Upkept(pipeline=one.name, command=command, leftovers=by_kind(found))


def _failed(pipeline: str, command: str, error: TidemillError) -> Upkept:
    return Upkept(
        pipeline=pipeline,
        command=command,
        error=error.as_dict(),
        exit_code=int(error.exit_code),
    )
