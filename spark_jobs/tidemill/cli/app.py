"""All commands, and what an error looks like."""

import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import print_exc
from types import FrameType
from typing import Annotated, Any

from typer import Abort, Exit, Option, Typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from tidemill.cli.command_list import add_commands
from tidemill.cli.screen import Screen, json_asked_for, keep_output_for_document
from tidemill.contract.errors import TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.project import enter_project
from tidemill.contract.syntax.unicode_text import refuse_no_unicode, show_any_text
from tidemill.steps.parts.run import foreseen, unforeseen
from tidemill.storage.lease import leave_on_loss
from tidemill.toolchain import jvm
from tidemill.toolchain.extras import installed_version

_TYPED = "tidemill.typed"


class Stopped(TidemillError):
    """A person or the system ended the command with a signal; carries `signal`."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM; like Ctrl-C, it unwinds whatever is at work."""


class Commands(TyperGroup):
    """The commands; an error of ours is a sentence and an exit code, never a stack trace."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_TYPED] = [*args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            refuse_no_unicode(ctx.meta[_TYPED])
            return super().invoke(ctx)
        except TidemillError as error:
            raise _shown(ctx, error) from error
        except KeyboardInterrupt as error:
            number = signal.SIGTERM if isinstance(error, _Terminated) else signal.SIGINT
            _shown(ctx, _stopped(number))
            raise Exit(128 + number) from error
        except (Exit, Abort, TyperException, BrokenPipeError):
            raise
        except Exception as error:
            refused = foreseen(error, Path.cwd())
            if refused is None:
                print_exc()
            raise _shown(ctx, refused or unforeseen(error)) from error


def _stopped(number: signal.Signals) -> Stopped:
    how = "Ctrl-C" if number is signal.SIGINT else number.name
    return Stopped(
        f"{how} ended the command.",
        remedy="What is committed is kept, and the next run goes on from there.",
        signal=int(number),
    )


def _shown(ctx: Any, error: TidemillError) -> Exit:
    Screen(json_asked_for(ctx) or "--json" in ctx.meta[_TYPED]).error(error)
    return Exit(int(error.exit_code))


app = Typer(
    cls=Commands,
    name="tidemill",
    help="Scheduled streams whose files are published only after a gate.",
    epilog="Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage or spec, "
    "3 held by the gate, 4 refused by the doctor.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        Screen().line(f"tidemill {installed_version() or '(not installed as a package)'}")
        raise Exit


Version = Annotated[
    bool, Option("--version", help="Print the version.", callback=_say_version, is_eager=True)
]


@app.callback()
def _options(version: Version = False) -> None:
    """What may stand before a command."""


add_commands(app)


def main() -> None:
    """The entry point of the console script; leaves with an `ExitCode`."""
    leave_on_loss()
    keep_from_others()
    show_any_text()
    signal.signal(signal.SIGTERM, _terminate)
    enter_project(Path.cwd())
    if "--json" in sys.argv:
        keep_output_for_document()
    with TemporaryDirectory(prefix="tidemill-") as folder:
        # A run names a file of its own.
        jvm.keep_log(Path(folder) / "spark.log")
        app()


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated
