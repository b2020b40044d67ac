"""A scratch checkpoint, in which the last batches of a query are run again for their state alone.

It has the logs and the state as they were at an earlier version, by hard links where there can be
any, and is given the plans of the batches since, one by one.
"""

import json
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemill.spark_logs.checkpoint_fork import NUMBER, existed, link
from tidemill.spark_logs.spark_files import with_checksums
from tidemill.spark_logs.state_versions import (
    CHANGES,
    VERSION,
    state_missing,
    versions,
    walk_files,
)
from tidemill.storage.sync import sync, sync_folder


@dataclass(frozen=True)
class ScratchCheckpoint:
    """A scratch checkpoint.

    Args:
        live: The checkpoint that lacks files of its state.
        path: The folder of the scratch; on the same file system.
        version: The version of the state that it begins with.
    """

    live: Path
    path: Path
    version: int

    def begin(self, damaged: Collection[Path]) -> None:
        """Lay out what the query goes on from.

        Args:
            damaged: Files of the state that are left out.
        """
        for name, after in (("offsets", self.version), ("commits", self.version)):
            for file in walk_files(self.live / name):
                found = NUMBER.fullmatch(file.name)
                if found is not None and int(found[1]) < after:
                    self._link(file)
        for file in walk_files(self.live / "sources"):
            self._link(file)
        left_out = {*with_checksums(damaged)}
        for file in walk_files(self.live / "state"):
            if existed(file, self.version) and file not in left_out:
                self._link(file)
        self.path.mkdir(parents=True, exist_ok=True)
        identity = json.dumps({"id": str(uuid.uuid4())})
        (self.path / "metadata").write_text(identity, encoding="utf-8")

    def plan(self, batch: int) -> None:
        """Give it the plan of the next batch."""
        for file in with_checksums([self.live / "offsets" / str(batch)]):
            self._link(file)

    def has_run(self, batch: int) -> bool:
        return (self.path / "commits" / str(batch)).exists()

    def hand_over(self, last: int, damaged: Collection[Path]) -> None:
        """Put the state up to a version in place of that of the live checkpoint.

        Only of partitions that cannot be loaded at it. What is damaged or gone there comes last: a
        kill before leaves a state that cannot be loaded, never one of two attempts, which may have
        kept equal rows in different orders.

        Args:
            last: The version that the live query goes on from.
        """
        stores = (
            self._there(store)
            for operator in (self.path / "state").iterdir()
            for store in versions(operator)
        )
        missing = state_missing(self.live, last, damaged, stores)
        partitions = {_partition(store, self.live) for store in missing}
        newer, data = self._new_files(last, partitions)
        sync(with_checksums([*data, *newer]), self.path)
        for snapshot in self._later_snapshots(partitions):
            _remove(snapshot)
        # Where a batch adds a column family, its changes cannot be read without its snapshot.
        newer = sorted(newer, key=lambda one: (self._is_lost(one, damaged), one.suffix in CHANGES))
        for file in (*data, *newer):
            self._put(file)

    def _new_files(
        self, last: int, partitions: Collection[Path]
    ) -> tuple[Sequence[Path], Sequence[Path]]:
        """The files of the versions that the batches have left, and the data of the snapshots."""
        files = [
            file
            for file in walk_files(self.path / "state")
            if file.suffix != ".crc" and _partition(file, self.path) in partitions
        ]
        newer = [file for file in files if self.version < _version(file) <= last]
        data = [file for file in files if _version(file) < 0 and not self._there(file).exists()]
        return newer, data

    def _is_lost(self, file: Path, damaged: Collection[Path]) -> bool:
        there = self._there(file)
        return there in damaged or not there.exists()

    def _later_snapshots(self, partitions: Collection[Path]) -> Iterator[Path]:
        return (
            file
            for file in walk_files(self.live / "state")
            if file.suffix not in (*CHANGES, ".crc")
            and _version(file) > self.version
            and _partition(file, self.live) in partitions
        )

    def _put(self, file: Path) -> None:
        there = self._there(file)
        there.parent.mkdir(parents=True, exist_ok=True)
        # The file first: one that is damaged must not stand there without a checksum that tells.
        _remove(there)
        checksums = [one for one in with_checksums([file]) if one != file]
        file.replace(there)
        for one in checksums:
            one.replace(self._there(one))
        sync_folder(there.parent)

    def _there(self, file: Path) -> Path:
        return self.live / file.relative_to(self.path)

    def _link(self, file: Path) -> None:
        link(file, self.path / file.relative_to(self.live))


def _partition(file: Path, checkpoint: Path) -> Path:
    """The folder of a partition's stores, from the folder of the state: operator and partition."""
    return Path(*file.relative_to(checkpoint / "state").parts[:2])


def _version(file: Path) -> int:
    found = VERSION.fullmatch(file.name)
    return -1 if found is None else int(found[1])


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
