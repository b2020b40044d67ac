"""All commands, and what an error looks like."""

from pathlib import Path
from typing import Any

from typer import Exit, Typer
from typer.core import TyperGroup

from tidemill.cli import (
    check,
    journal,
    late,
    plan,
    preview,
    requalify,
    rows,
    run,
    schema,
    sql,
    state,
    status,
    stream,
    where,
)
from tidemill.cli.decisions import (
    accept_loss,
    checkpoint,
    flush,
    lease,
    release,
    root,
    target,
    upgrade,
)
from tidemill.cli.decisions import recompute as asked
from tidemill.cli.screen import Screen, json_asked_for
from tidemill.contract.errors import TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.syntax.unicode_text import refuse_no_unicode, show_any_text
from tidemill.storage.disk_errors import named
from tidemill.storage.lease import leave_on_loss

_TYPED = "tidemill.typed"


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
        except OSError as error:
            refused = named(error, Path.cwd())
            if refused is None:
                raise
            raise _shown(ctx, refused) from error


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
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    run.run,
    check.check,
    plan.plan,
    status.status,
    rows.rows,
    late.late,
    sql.sql,
    where.where,
    preview.preview,
    release.release,
    asked.redo,
    asked.reject,
    asked.reinstate,
    asked.backfill,
    asked.replay,
    requalify.requalify,
    asked.rebuild,
    accept_loss.accept_loss,
    root.init,
    root.forget,
    flush.flush,
    upgrade.upgrade,
    stream.stream,
):
    app.command()(command)
app.add_typer(schema.schema, name="schema")
app.add_typer(state.state, name="state")
app.add_typer(target.target, name="target")
app.add_typer(lease.lease, name="lease")
app.add_typer(journal.journal, name="journal")
app.add_typer(checkpoint.checkpoint, name="checkpoint")


def main() -> None:
    """The entry point of the console script; leaves with an `ExitCode`."""
    leave_on_loss()
    keep_from_others()
    show_any_text()
    app()
