"""Orphans: files in a sink's folder that no log names, so that readers ignore them.

A driver or an executor that died leaves them, a task that ran twice, or a person who wrote there.
"""

import os
from pathlib import Path

from tidemill.contract.document import FrozenModel
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.sink_reader import read_committed
from tidemill.spark_logs.checkpoint import read_checkpoint
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY
from tidemill.storage.folders import Stat


class Orphans(FrozenModel):
    """Files that no log and no manifest names; they are neither judged nor published."""

    files: int
    bytes: int


def read_orphans(layout: Layout, generation: str) -> Orphans | None:
    """Count the orphans of a generation; reads its sink's whole log and lists its folder.

    Returns:
        None while a batch is unfinished, as it cannot be told its files from orphans then.

    Raises:
        Refused: the sink's log or the checkpoint is damaged.
    """
    found = orphan_files(layout, generation)
    if found is None:
        return None
    return Orphans(files=len(found), bytes=sum(one.st_size for one in found.values()))


def orphan_files(layout: Layout, generation: str) -> dict[str, Stat] | None:
    """The orphans of a generation by their paths; as `read_orphans`."""
    # Listed first, as what is written meanwhile would be in no log that was read before.
    found = _files(layout.sink(generation))
    checkpoint = read_checkpoint(layout.checkpoint(generation))
    if checkpoint.latest_offsets != checkpoint.latest_commit:
        return None
    log = read_committed(read_note(layout, generation), layout.sink(generation))
    named = {str(file.path) for file in log.files}
    return {path: one for path, one in found.items() if path not in named}


def _files(sink: Path) -> dict[str, Stat]:
    """The data files below a sink; logs, manifests and checksums are not one."""
    if isinstance(sink, ObjectPath):
        return {
            str(path): stat
            for path, stat in sink.files()
            if path.name[0] not in "._" and METADATA_DIRECTORY not in path.parts
        }
    found: dict[str, Stat] = {}
    for folder, folders, names in os.walk(sink):
        folders[:] = [name for name in folders if name != METADATA_DIRECTORY]
        paths = (os.path.join(folder, name) for name in names if name[0] not in "._")  # noqa: PTH118
        found.update((path, os.stat(path)) for path in paths)  # noqa: PTH116
    return found
