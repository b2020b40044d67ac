"""Static inputs that need neither Spark nor a server: files, and published tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tidemill.contract.errors import Refused, TransientError
from tidemill.contract.layout import Layout
from tidemill.file_formats.delta_log import has_table
from tidemill.file_formats.delta_table import open_table
from tidemill.ledger.static_pins import PinnedFile, StaticPin, identity_of, pinned_file, put_copy
from tidemill.sources.files.listing import Found, InputMissing, list_source
from tidemill.spec.static_inputs import FileStatic, TableStatic

if TYPE_CHECKING:
    from deltalake import DeltaTable

TABLE_FILE = "rows.parquet"


class StaticMissing(Refused):
    """A static input is not there; carries `static` and `path`."""


class StaticChanging(TransientError):
    """A file is written to while it is copied; carries `static` and `path`."""


def pin_files(name: str, static: FileStatic, place: Path) -> StaticPin:
    """The files as they are now, copied unless that was done.

    Raises:
        StaticMissing: there is no file.
        StaticChanging: one is being written.
    """
    base, files = _list(static)
    if not files:
        raise StaticMissing(
            f"statics.{name}: there is no file to read at {static.place}.",
            remedy="Put it there, or correct the path in the spec.",
            static=name,
            path=static.place,
        )
    pin = StaticPin(
        kind=static.kind, identity=identity_of(str(base), *_as_data(files)), files=files
    )
    if pin.missing_in(place / pin.identity) is not None:
        put_copy(place, pin.identity, lambda draft: _copy(name, base, files, draft))
    return pin


def pin_table(name: str, static: TableStatic, root: Path, place: Path) -> StaticPin:
    """The newest published version of a pipeline's table, copied unless that was done.

    A copy, for the table's own upkeep may remove what only an old version names.

    Raises:
        StaticMissing: that pipeline has published nothing yet.
    """

    path = Layout(root, static.pipeline).table
    if not has_table(path):
        raise StaticMissing(
            f"statics.{name}: pipeline '{static.pipeline}' has published nothing yet under {root}.",
            remedy=f"Run it first: tidemill run {static.pipeline}",
            static=name,
            path=path,
        )
    return _pin_version(open_table(path), static, path, place)


def _pin_version(table: DeltaTable, static: TableStatic, path: Path, place: Path) -> StaticPin:
    from pyarrow import parquet

    from tidemill.file_formats.delta import open_dataset

    version = table.version()
    identity = f"version-{version:06d}-{identity_of(str(table.metadata().id))}"

    def write(draft: Path) -> None:
        rows = open_dataset(path, table)
        with parquet.ParquetWriter(draft / TABLE_FILE, rows.schema) as file:
            for batch in rows.to_batches():
                file.write_batch(batch)

    folder = place / identity
    if not (folder / TABLE_FILE).is_file():
        put_copy(place, identity, write)
    return StaticPin(
        kind=static.kind,
        identity=identity,
        files=(pinned_file(folder / TABLE_FILE, folder),),
        version=version,
        table_schema=json.loads(table.schema().to_json()),
    )


def _list(static: FileStatic) -> tuple[Path, tuple[PinnedFile, ...]]:
    """The files, and the folder that their paths are relative to."""
    source = static.as_source
    one = Path(source.path)
    if one.is_file():
        return one.parent, (pinned_file(one, one.parent),)
    try:
        found = list_source(source, "statics.*.path").files
    except InputMissing:
        found = ()
    return source.directory, tuple(_listed(file, source.directory) for file in found)


def _listed(file: Found, base: Path) -> PinnedFile:
    path = str(file.path.relative_to(base))
    return PinnedFile(path=path, size=file.size, modified_ms=file.modified_ms)


def _as_data(files: tuple[PinnedFile, ...]) -> list[tuple[str, int, int]]:
    return [(file.path, file.size, file.modified_ms) for file in files]


def _copy(name: str, base: Path, files: tuple[PinnedFile, ...], draft: Path) -> None:
    for file in files:
        original, copy = base / file.path, draft / file.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(original, copy)
            same = pinned_file(original, base) == file == pinned_file(copy, draft)
        except FileNotFoundError:
            same = False
        if not same:
            raise StaticChanging(
                f"statics.{name}: {original} changed while it was copied.",
                remedy="The next try copies it again; put files in place whole, by a rename.",
                static=name,
                path=original,
            )
