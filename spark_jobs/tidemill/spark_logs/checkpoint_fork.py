"""Copies Spark's checkpoint as it was after an earlier batch, so that a fork continues there.

Each log is cut by its own count: offsets and commits by the batch, the files that a source has
taken in by the source's offset, state by its version, which is the number of batches behind it.
"""

import json
import os
import re
from collections.abc import Container
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.spark_logs.checkpoint import Checkpoint
from tidemill.spark_logs.compactible_log import GapInSourceLog, compactible_log
from tidemill.spark_logs.source_log_cut import cut_source_log
from tidemill.spark_logs.state_versions import VERSION, loads, versions, walk_files
from tidemill.storage.folders import copy_file

NUMBER = re.compile(r"\.?([0-9]+)(\.compact)?(\.crc)?")


class ForkPointGone(Refused):
    """The checkpoint no longer holds what a batch left behind; carries `batch` and `missing`."""


def cut(
    checkpoint: Checkpoint,
    to: Path,
    first: int,
    query_id: str,
    kafka: set[str],
    shortened: Container[str] = (),
) -> None:
    """Copy what a checkpoint held when a batch was the next to be planned.

    Args:
        checkpoint: The checkpoint; its directory is only read.
        to: The new directory.
        first: The batch that comes next there.
        query_id: The query id of the query that goes on with it.
        kafka: The sources whose folder holds no more than where they begin.
        shortened: The file sources whose log is cut (`spark_logs.source_log_cut`).

    Raises:
        ForkPointGone: it does not hold all of it any more.
    """
    before = first - 1
    to.mkdir(parents=True, exist_ok=True)
    _copy_sources(checkpoint, to, first, kafka, shortened)
    if not first:
        return
    for name, log in (("offsets", checkpoint.offsets), ("commits", checkpoint.commits)):
        if before not in log:
            raise _gone(checkpoint, before, name)
        _copy_numbered(checkpoint.path / name, to / name, before)
    _copy_state(checkpoint, to, first)
    # What says that it is a query's comes last.
    (to / "metadata").write_text(json.dumps({"id": query_id}), encoding="utf-8")


def link(source: Path, target: Path) -> None:
    """The same file under another name: it is no longer written to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, ObjectPath):
        copy_file(source, target)
        return
    try:
        os.link(source, target)
    except OSError:
        # A file system without hard links, or another one.
        copy_file(source, target)


def _copy_numbered(folder: Path, to: Path, last: int) -> None:
    for path in _files(folder):
        found = NUMBER.fullmatch(path.name)
        if found is not None and int(found[1]) <= last:
            link(path, to / path.name)


def _copy_sources(
    checkpoint: Checkpoint, to: Path, first: int, kafka: set[str], shortened: Container[str]
) -> None:
    sources = checkpoint.path / "sources"
    planned = checkpoint.offsets[first - 1].sources if first - 1 in checkpoint.offsets else {}
    for folder in sorted(sources.iterdir()) if sources.is_dir() else ():
        offset = planned.get(folder.name)
        target = to / "sources" / folder.name
        if folder.name in kafka:
            _copy_numbered(folder, target, 0)
        elif isinstance(offset, dict) and "logOffset" in offset:
            last = int(offset["logOffset"])
            if folder.name in shortened:
                cut_source_log(folder, target, last)
                continue
            _copy_numbered(folder, target, last)
            _prove_whole(checkpoint, target, first - 1, last)


def _prove_whole(checkpoint: Checkpoint, copied: Path, batch: int, last: int) -> None:
    log = compactible_log(copied)
    try:
        log.tail(GapInSourceLog)
    except Refused as error:
        raise _gone(checkpoint, batch, f"sources/{copied.name}") from error
    if last >= 0 and log.latest != last:
        raise _gone(checkpoint, batch, f"sources/{copied.name}")


def _copy_state(checkpoint: Checkpoint, to: Path, version: int) -> None:
    state = checkpoint.path / "state"
    for operator in sorted(state.iterdir()) if state.is_dir() else ():
        stores = versions(operator)
        if not any(v <= version for found in stores.values() for v, _ in found):
            # Written by code that came later.
            continue
        for store, found in stores.items():
            if any(v <= version for v, _ in found) and not loads(found, version):
                raise _gone(checkpoint, version - 1, str(store.relative_to(checkpoint.path)))
        for path in walk_files(operator):
            if existed(path, version):
                link(path, to / path.relative_to(checkpoint.path))


def existed(path: Path, version: int) -> bool:
    """Whether a file of the state is as old as a version."""
    found = VERSION.fullmatch(path.name)
    if found is not None:
        return int(found[1]) <= version
    if path.parent.name == "v2" and path.parent.parent.name == "_metadata":
        batch = NUMBER.fullmatch(path.name)
        return batch is None or int(batch[1]) < version
    return True


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file()] if folder.is_dir() else []


def _gone(checkpoint: Checkpoint, batch: int, what: str) -> ForkPointGone:
    name = checkpoint.path.parent.parent.name
    found = (
        f"{checkpoint.path / what} no longer holds what batch {batch} left: Spark has forgotten it "
        "since."
    )
    if not checkpoint.path.is_dir():
        found = (
            f"{checkpoint.path}, which held what batch {batch} left, is gone: `tidemill vacuum` "
            "removes checkpoints of ended generations after retention.checkpoints."
        )
    return ForkPointGone(
        found,
        remedy=f"Go back to a later run (tidemill checkpoint show {name} lists them), or compute "
        f"everything from the beginning: tidemill rebuild {name} --reason TEXT.",
        batch=batch,
        missing=what,
    )
