"""The one check whether a pipeline's folder is rewritten in part: relocated, or erased from."""

from pathlib import Path

from tidemill.storage.erasures import ERASE, refuse_unfinished_erasure
from tidemill.storage.relocations import RELOCATE, refuse_unfinished


def refuse_unfinished_rewrite(home: Path, step: str | None = None) -> None:
    """Refuse a pipeline whose files and books were written again in part.

    Args:
        home: `Layout.home`.
        step: The step that asks: it goes on with what it has begun itself.

    Raises:
        RelocationUnfinished: only `tidemill relocate` or `rename` may go on.
        ErasureUnfinished: only `tidemill erase` may.
    """
    if step != RELOCATE:
        refuse_unfinished(home, step)
    if step != ERASE:
        refuse_unfinished_erasure(home)
