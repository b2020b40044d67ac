"""The commands of `tidemill`, in the groups and the order in which its help shows them."""

from collections.abc import Callable
from inspect import getdoc
from typing import Any

from typer import Typer

from tidemill.cli import (
    bundle,
    check,
    diff,
    docs,
    doctor,
    explain,
    history,
    info,
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
    drop,
    flush,
    follow,
    lease,
    recompute,
    release,
    resolve,
    target,
    upgrade,
)
from tidemill.cli.project import example, init, new, render, suite
from tidemill.cli.testing import drill, test
from tidemill.cli.upkeep import compact, erase, relocate, rename, upkeep, vacuum

Command = Callable[..., Any]

# A `Typer` is a command with commands of its own, and carries its name.
GROUPS: dict[str, tuple[Command | Typer, ...]] = {
    "Write": (
        init.init,
        new.new,
        check.check,
        preview.preview,
        test.test,
        drill.drill,
        render.render,
        plan.plan,
        example.example,
        schema.schema,
        suite.suite,
    ),
    "Run": (
        run.run,
        stream.stream,
        doctor.doctor,
        info.info,
        bundle.bundle,
    ),
    "Look": (
        status.status,
        rows.rows,
        late.late,
        diff.diff,
        sql.sql,
        where.where,
        history.history,
        docs.docs,
        explain.explain,
        journal.journal,
        state.state,
    ),
    "Decide and compute again": (
        resolve.resolve,
        release.release,
        recompute.reject,
        recompute.reinstate,
        recompute.redo,
        recompute.backfill,
        recompute.replay,
        follow.follow,
        requalify.requalify,
        recompute.rebuild,
        flush.flush,
        accept_loss.accept_loss,
        drop.drop,
        upgrade.upgrade,
        target.target,
        lease.lease,
        checkpoint.checkpoint,
    ),
    "Tidy up": (
        vacuum.vacuum,
        compact.compact,
        upkeep.upkeep,
        relocate.relocate,
        rename.rename,
        erase.erase,
    ),
}


EXAMPLES = "Examples:"


def add_commands(app: Typer) -> None:
    """Register every command with the group of the help that it stands in."""
    for group, commands in GROUPS.items():
        for command in commands:
            if isinstance(command, Typer):
                app.add_typer(command, help=_help_of(command), rich_help_panel=group)
            else:
                app.command(rich_help_panel=group)(command)


def examples_in(text: str) -> list[str]:
    """The lines below `Examples:` at the end of a command's help."""
    return [line.strip() for line in text.partition(f"\n{EXAMPLES}\n")[2].splitlines()]


def _help_of(group: Typer) -> str:
    """What a group says of itself, with the examples of its commands."""
    itself = [group.registered_callback] if group.registered_callback else []
    callbacks = [one.callback for one in itself] + [
        one.callback for one in group.registered_commands
    ]
    documented = (getdoc(one) for one in callbacks)
    examples = [line for text in documented for line in examples_in(text or "")]
    return "\n".join([f"{group.info.help}\n", EXAMPLES, *(f"  {line}" for line in examples)])
