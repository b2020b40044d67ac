"""Static inputs from an object store, copied without a JVM."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tidemill.contract.objects.found_object import FoundObject
from tidemill.ledger.static_pins import PinnedFile, StaticPin, identity_of, put_copy
from tidemill.sources.files.listing import read_below
from tidemill.sources.files.objects.copies import copy_objects
from tidemill.sources.files.objects.object_store import ObjectStore
from tidemill.sources.files.objects.waiting import compare
from tidemill.sources.static_files import StaticMissing
from tidemill.spec.static_inputs import KEYS_ROOT, FileStatic


def pin_objects(
    name: str, static: FileStatic, place: Path, environ: Mapping[str, str]
) -> StaticPin:
    """The objects as they are now, copied unless that was done.

    Args:
        static: One with `fetch`.

    Raises:
        StaticMissing: there is no object.
        ObjectKeyUnusable: an object's key cannot be a path of a file.
        ObjectReplacedMeanwhile: an object was replaced while it was copied; transient.
        ObjectStoreUnreachable: the store does not answer; transient.
        ObjectStoreRefuses: there is no such bucket, or it is not ours to read.
    """
    store, listed = _list(name, static, environ)
    objects = _readable(name, static, listed)
    if not objects:
        raise StaticMissing(
            f"statics.{name}: there is no object to read at {static.place}.",
            remedy="Put it there, or correct fetch.url in the spec.",
            static=name,
            path=static.place,
        )
    versions = [(one.key, one.size, one.modified_ms, one.etag, one.version) for one in objects]
    pin = StaticPin(
        kind=static.kind,
        identity=identity_of(static.place, *versions),
        files=tuple(
            PinnedFile(path=one.key, size=one.size, modified_ms=one.modified_ms, etag=one.etag)
            for one in objects
        ),
    )
    if pin.missing_in(place / pin.identity) is not None:
        put_copy(place, pin.identity, lambda draft: copy_objects(store, objects, draft, name))
    return pin


def _list(
    name: str, static: FileStatic, environ: Mapping[str, str]
) -> tuple[ObjectStore, list[FoundObject]]:
    """The objects, and the store that their keys are relative to."""
    field = f"statics.{name}.fetch.url"
    folder = ObjectStore(field, static.place, static.conn_id, environ)
    listed = folder.list()
    parent, _, key = static.place.rpartition("/")
    if listed or parent.endswith("/"):
        return folder, listed
    # No store has folders without objects, so the URL may be that of one object.
    above = ObjectStore(field, parent, static.conn_id, environ)
    found = above.find(key)
    return above, [found] if found else []


def _readable(
    name: str, static: FileStatic, listed: Sequence[FoundObject]
) -> tuple[FoundObject, ...]:
    """The objects that Spark would read if they were files."""
    source = static.as_source
    waiting = compare(source, listed, {})
    for problem in waiting.problems(name, source):
        raise problem.error
    root = Path(KEYS_ROOT)
    by_path = {root / one.key: one for one in waiting.new}
    read = read_below(root, sorted(by_path), source)
    return tuple(by_path[path] for path in read)
