"""Upkeep of a pipeline: every command that tidies up, one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import ExitCode, TidemillError
from tidemill.contract.log import Log
from tidemill.spec.catalog import SpecFile
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.spec import Spec
from tidemill.steps.parts.run import foreseen, unforeseen
from tidemill.steps.upkeep.compact import CompactRequest, compacts
from tidemill.steps.upkeep.leftover import Leftover, LeftoversOfKind, by_kind
from tidemill.steps.upkeep.vacuum import plan_vacuum, vacuum
from tidemill.storage.run_context import RunContext


@dataclass(frozen=True)
class Tidying:
    """A command that tidies up.

    Args:
        plan: Finds what it would tidy up.
        apply: Does it, and says what it did.
        due: Whether upkeep runs it for a pipeline.
    """

    plan: Callable[[RunContext], list[Leftover]]
    apply: Callable[[RunContext], list[Leftover]]
    due: Callable[[Spec], bool] = lambda _: True


WHOLE_TABLES = CompactRequest()
# In the order in which they run: what compaction replaces may be old enough at the next time.
COMMANDS = {
    "compact": Tidying(WHOLE_TABLES.plan, WHOLE_TABLES.apply, compacts),
    "vacuum": Tidying(plan_vacuum, vacuum),
}


class Upkept(FrozenModel):
    """What one command of upkeep found in one pipeline.

    Attributes:
        leftovers: What it tidied up, or would tidy up.
        error: `TidemillError.as_dict()` where it failed; it then did nothing, or a part.
        exit_code: As of a command for this pipeline alone.
    """

    pipeline: str
    command: str
    leftovers: tuple[LeftoversOfKind, ...] = ()
    error: dict[str, Any] | None = None
    exit_code: int = int(ExitCode.DONE)


def upkeep(
    pipelines: Iterable[SpecFile],
    commands: Mapping[str, Tidying],
    run_id: str,
    log: Log,
    *,
    apply: bool,
) -> Iterator[Upkept]:
    """Run commands of upkeep over pipelines; one that fails does not stop the others.

    Args:
        commands: Name -> the command.
        run_id: Under which the leases name this upkeep.
        apply: Whether to tidy up what is found.
    """
    for one in pipelines:
        for command, tidying in commands.items():
            try:
                run = RunContext(open_pipeline(one.name), run_id, log)
                if not tidying.due(run.pipeline.spec):
                    continue
                found = (tidying.apply if apply else tidying.plan)(run)
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
