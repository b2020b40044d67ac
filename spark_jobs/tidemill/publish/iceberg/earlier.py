"""The snapshots of an Iceberg table before the newest one, which go with all that they alone name.

Manifests hold the least and the greatest value of each column of a file, also of one that was
removed. So an empty snapshot comes after the one that removes files, and names such manifests no
more; then nothing stays of the snapshots before.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from pyarrow.fs import FileSelector, FileType
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestContent, ManifestEntryStatus, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.statistics import PartitionStatisticsFile, StatisticsFile

from tidemill.contract.errors import Refused
from tidemill.publish.head import Head
from tidemill.publish.iceberg.snapshots import KIND, SNAPSHOT, of_head

# What a snapshot says of its kind; the others are those of events.
ERASE = "erase"
# Where a table's files may be too, beside its location.
PLACES = ("write.data.path", "write.metadata.path")
# They name files and hold no values.
METADATA = (".metadata.json", ".metadata.json.gz", "version-hint.text")


class RowsKept(Refused):
    """An Iceberg table would keep rows that are to be erased; carries `target` and `why`."""


@dataclass(frozen=True)
class EarlierSnapshots:
    """The snapshots of one table before its newest one.

    Args:
        target: Its name.
        table: As it is now.
    """

    target: str
    table: Table

    def refuse_kept(self) -> None:
        """Refuse a table that keeps snapshots for others.

        Raises:
            RowsKept: it does.
        """
        names = sorted({*self.table.refs()} - {MAIN_BRANCH})
        if names:
            raise self.kept(
                f"branches and tags ({', '.join(names)}) keep snapshots", "Drop them first."
            )

    def refuse_deletes(self) -> None:
        """Refuse a table whose newest snapshot has delete files, which hold values of rows.

        Raises:
            RowsKept: it has.
        """
        current = self.table.current_snapshot()
        for one in self._manifest_files(current) if current else ():
            if one.content is ManifestContent.DELETES:
                raise self.kept(
                    f"another engine has deleted rows by delete files ({one.manifest_path})",
                    "Let that engine write the table's data files again first.",
                )

    def kept(self, why: str, remedy: str) -> RowsKept:
        return RowsKept(
            f"{self.target} would keep rows that are to be erased: {why}.",
            remedy=f"Nothing was changed. {remedy}",
            target=self.target,
            why=why,
        )

    def end(self, head: Head) -> None:
        """Commit an empty snapshot, if the newest one is not such.

        Args:
            head: The table's head from then on.
        """
        if self._is_ended or self.table.current_snapshot() is None:
            return
        said = {**of_head(head), KIND: ERASE}
        transaction = self.table.transaction()
        last = transaction.update_snapshot(said).fast_append()
        last.commit()
        transaction.set_properties({**of_head(head), SNAPSHOT: str(last.snapshot_id)})
        transaction.commit_transaction()

    def remove(self) -> None:
        """Remove them with what they alone name, if the newest one is an empty one.

        Files are removed before what names them, so that one that was interrupted finds them again.
        """
        current = self.table.current_snapshot()
        if current is None or not self._is_ended:
            return
        kept = {*self._named(current)}
        data = {path for one in self.older for path in self.data_files(one)}
        manifests = {path for one in self.older for path in self._manifests(one)}
        lists = {one.manifest_list for one in self.older}
        own = tuple(f"{folder.rstrip('/')}/" for folder in self._folders)
        ids = [one.snapshot_id for one in self.older]
        statistics = {one.statistics_path for one in self._statistics if one.snapshot_id in ids}
        for path in (
            *sorted(one for one in data - kept if one.startswith(own)),
            *sorted(statistics),
            *sorted(manifests - kept),
            *sorted(lists - kept),
        ):
            with suppress(FileNotFoundError):
                self.table.io.delete(path)
        if ids:
            self.table.maintenance.expire_snapshots().by_ids(ids).commit()

    def count(self) -> int:
        """How many snapshots may still name files that were removed: 0 after an erasure."""
        current = self.table.current_snapshot()
        if current is None:
            return 0
        removed = any(
            entry.status is ManifestEntryStatus.DELETED
            for manifest in self._manifest_files(current)
            for entry in manifest.fetch_manifest_entry(self.table.io, discard_deleted=False)
        )
        return len(self.older) + removed

    def unnamed(self) -> list[str]:
        """The files in the table's storage that no snapshot names, as killed commits leave them.

        None are found where PyIceberg does not read the storage by PyArrow.
        """
        named = {self._path(path) for one in self.table.snapshots() for path in self._named(one)}
        named |= {self._path(one.statistics_path) for one in self._statistics}
        return sorted({path for path in self._stored() if path not in named})

    @cached_property
    def older(self) -> list[Snapshot]:
        current = self.table.current_snapshot()
        return [one for one in self.table.snapshots() if one != current]

    def data_files(self, snapshot: Snapshot) -> Iterator[str]:
        """The files that the manifests of a snapshot name, removed ones too."""
        for manifest in self._manifest_files(snapshot):
            with suppress(FileNotFoundError):
                for entry in manifest.fetch_manifest_entry(self.table.io, discard_deleted=False):
                    yield entry.data_file.file_path

    @property
    def _is_ended(self) -> bool:
        current = self.table.current_snapshot()
        summary = current.summary if current else None
        return summary is not None and summary.additional_properties.get(KIND) == ERASE

    @property
    def _statistics(self) -> list[StatisticsFile | PartitionStatisticsFile]:
        return [*self.table.metadata.statistics, *self.table.metadata.partition_statistics]

    def _named(self, snapshot: Snapshot) -> Iterator[str]:
        yield from self.data_files(snapshot)
        yield from self._manifests(snapshot)
        yield snapshot.manifest_list

    def _manifests(self, snapshot: Snapshot) -> Iterator[str]:
        return (one.manifest_path for one in self._manifest_files(snapshot))

    def _manifest_files(self, snapshot: Snapshot) -> list[ManifestFile]:
        try:
            return snapshot.manifests(self.table.io)
        except FileNotFoundError:
            # An erasure was interrupted after it had removed them.
            return []

    @property
    def _folders(self) -> list[str]:
        given = (self.table.properties.get(name) for name in PLACES)
        return [self.table.location(), *(place for place in given if place)]

    def _stored(self) -> Iterator[str]:
        io = self.table.io
        if not isinstance(io, PyArrowFileIO):
            return
        for folder in self._folders:
            scheme, netloc, path = io.parse_location(folder)
            selector = FileSelector(path, allow_not_found=True, recursive=True)
            for found in io.fs_by_scheme(scheme, netloc).get_file_info(selector):
                if found.type is FileType.File and not found.path.endswith(METADATA):
                    yield found.path

    def _path(self, location: str) -> str:
        """A location as a listing names it."""
        return PyArrowFileIO.parse_location(location)[2]
