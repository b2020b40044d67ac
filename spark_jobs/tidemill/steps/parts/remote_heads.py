"""Checks that databases and catalogues are where the journal says: one look each."""

from datetime import datetime
from pathlib import Path

from tidemill.contract.errors import TransientError, UsageError
from tidemill.contract.layout import Layout
from tidemill.publish.target_heads import verify_target
from tidemill.storage.run_context import RunContext

IDLE_SECONDS = 3600.0


def verify_remote_heads(run: RunContext, *, due: bool) -> None:
    """Prove every target outside the root; while there is nothing to do, once an hour.

    One that does not answer stops nothing: ingest and gate need no target, and publish says
    what is wrong with it.

    Args:
        due: Whether the run has anything to do.

    Raises:
        TargetBehindJournal: one was set back.
        TargetAheadOfJournal: the journal was.
    """
    for target in run.pipeline.spec.publish:
        looked = _looked(run.pipeline.layout, target.name)
        if not target.remote_head or not (due or _is_old(looked, run.clock())):
            continue
        try:
            verify_target(run.pipeline, target.name)
        except (TransientError, UsageError) as error:
            run.log(f"warning: it is unknown how far {target.name} is: {error}")
            continue
        looked.parent.mkdir(parents=True, exist_ok=True)
        looked.touch()


def _looked(layout: Layout, target: str) -> Path:
    """A file whose time says when a target was looked at."""
    return layout.home / "looked" / target


def _is_old(looked: Path, now: datetime) -> bool:
    return not looked.exists() or now.timestamp() - looked.stat().st_mtime > IDLE_SECONDS
