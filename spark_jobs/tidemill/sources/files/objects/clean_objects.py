"""`fetch.clean`: objects are deleted or archived in their store once their rows are published.

As with `cleanSource`, what is to become of a batch's objects is written down first, then done, then
written down as done.
"""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tidemill.contract.objects.errors import ObjectStoreRefuses, ObjectStoreUnreachable
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile
from tidemill.ledger.ledger import Ledger
from tidemill.sources.files.archive import Kept
from tidemill.sources.files.objects.cleaning import (
    CleanedObjects,
    CleaningObjects,
    PutAwayObject,
    objects_done,
    objects_planned,
)
from tidemill.sources.files.objects.fetched import FetchedObject, read_fetched
from tidemill.sources.files.objects.object_store import ObjectStore
from tidemill.sources.files.objects.put_away import archive, delete
from tidemill.spec.sources.file import FileSource
from tidemill.storage import documents
from tidemill.storage.run_context import LeasedRun

AT_ONCE = 8
NOT_A_COPY = "it is not the copy of an object"
NOT_ASKED = "the spec does not ask for it any more"
UNCONDITIONAL = (
    "the store ignores If-Match when it deletes, so that a new object could be lost; remove "
    "fetch.clean, and give the bucket a lifecycle rule"
)


class _Ended(NamedTuple):
    """What became of one object.

    Attributes:
        kept: Why it stays; None for one that was put away.
        again: Whether the next run tries again.
    """

    kept: str | None
    again: bool = False


class _Stores(NamedTuple):
    """The store that objects were fetched from, and the archive where there is one."""

    fetched: ObjectStore
    archive: ObjectStore | None


@dataclass
class ObjectCleaner:
    """Puts away the objects of batches, for one publish step.

    Args:
        environ: Has the connections.
    """

    run: LeasedRun
    environ: Mapping[str, str]
    _fetched: dict[str, Mapping[str, FetchedObject]] = field(default_factory=dict)
    _open: dict[tuple[str, str, str | None], _Stores | _Ended] = field(default_factory=dict)

    def is_done(self, ledger: Ledger, batch: int) -> bool:
        """Whether a batch's objects were put away."""
        return objects_done(ledger.folder, batch).exists()

    def clean(self, ledger: Ledger, batch: Batch) -> Counter[str]:
        """Put away the objects of a published batch; what a store refuses is tried again later.

        Returns:
            How many were archived, deleted and kept.

        Raises:
            LeaseLost: a newer epoch took over; it carries on.
        """
        planned = self._planned(ledger, batch)
        for one in planned.objects:
            if one.place not in self._open:
                self._open[one.place] = self._opened(one)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ended = list(pool.map(self._put_away, planned.objects))
        pairs = list(zip(planned.objects, ended, strict=True))
        kept = {**planned.kept, **{one.name: end.kept for one, end in pairs if end.kept}}
        for name, why in kept.items():
            self.run.log(f"warning: {name} is kept: {why}")
        away = [one for one, end in pairs if end.kept is None]
        done = Counter("deleted" if one.archive is None else "archived" for one in away)
        if not any(end.again for end in ended):
            cleaned = CleanedObjects(
                batch=batch.batch,
                epoch=self.run.epoch,
                archived=done["archived"],
                deleted=done["deleted"],
                kept=kept,
                at=self.run.clock(),
            )
            documents.put_if_absent(objects_done(ledger.folder, batch.batch), cleaned)
        return done + Counter(kept=len(kept))

    def _planned(self, ledger: Ledger, batch: Batch) -> CleaningObjects:
        path = objects_planned(ledger.folder, batch.batch)
        found = documents.read(path, CleaningObjects)
        if found is not None:
            return found
        asked = self._asked & {*ledger.cleaned_objects(batch)}
        objects = {file.path: self._plan(file) for file in batch.inputs if file.source in asked}
        self.run.lease.check()
        plan = CleaningObjects(
            batch=batch.batch,
            epoch=self.run.epoch,
            objects=tuple(one for one in objects.values() if one),
            kept={path: NOT_A_COPY for path, one in objects.items() if one is None},
            at=self.run.clock(),
        )
        return documents.put_if_absent(path, plan)

    def _plan(self, file: InputFile) -> PutAwayObject | None:
        """The object whose copy was read; None where no object was copied there."""
        source = self._source(file.source)
        if source.fetch is None or not file.on_disk.is_relative_to(source.directory):
            return None
        if file.source not in self._fetched:
            self._fetched[file.source] = read_fetched(self.run.layout, file.source)
        key = str(file.on_disk.relative_to(source.directory))
        found = self._fetched[file.source].get(key)
        if found is None or (found.size, found.modified_ms) != (file.size, file.modified_ms):
            return None
        return PutAwayObject(
            source=file.source, url=source.fetch.url, archive=source.fetch.archive, object=found
        )

    @cached_property
    def _asked(self) -> set[str]:
        sources = self.run.pipeline.spec.sources
        return {name for name, source in sources.items() if source.cleans_objects}

    def _source(self, name: str) -> FileSource:
        return self.run.pipeline.spec.sources_of(FileSource)[name]

    def _opened(self, planned: PutAwayObject) -> _Stores | _Ended:
        """The stores of an object, or why nothing is done there in this step."""
        name = planned.source
        fetch = self._source(name).fetch if name in self._asked else None
        if fetch is None or fetch.url != planned.url:
            return _Ended(NOT_ASKED)
        at = f"sources.{name}.fetch"
        store = ObjectStore(f"{at}.url", planned.url, fetch.conn_id, self.environ)
        try:
            if not store.deletes_on_condition(f".{self.run.pipeline.name}.tidemill"):
                return _Ended(UNCONDITIONAL)
        except (ObjectStoreUnreachable, ObjectStoreRefuses) as error:
            return _Ended(str(error), again=True)
        if planned.archive is None:
            return _Stores(store, None)
        to = ObjectStore(f"{at}.clean.archive", planned.archive, fetch.conn_id, self.environ)
        return _Stores(store, to)

    def _put_away(self, planned: PutAwayObject) -> _Ended:
        stores = self._open[planned.place]
        if isinstance(stores, _Ended):
            return stores
        check, scratch = self.run.lease.check, self._source(planned.source).directory
        try:
            if stores.archive is None:
                delete(stores.fetched, planned.object, check)
            else:
                archive(stores.fetched, planned.object, stores.archive, scratch, check)
        except Kept as reason:
            return _Ended(str(reason))
        except ObjectStoreUnreachable as error:
            self._open[planned.place] = ended = _Ended(str(error), again=True)
            return ended
        except (ObjectStoreRefuses, OSError) as error:
            return _Ended(str(error), again=True)
        return _Ended(None)
