"""A file source whose files are copied from an object store, without a JVM.

A run copies what is new before its query starts, under the lease, and Spark reads the copies. So a
batch reads the same bytes at every try, and a backfill years later too, whatever became of the
object; and Spark needs no client of the store.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from tidemill.contract.counted import bytes_in_words, counted
from tidemill.ledger.batch import Batch
from tidemill.sources.files.objects.copies import copy_objects
from tidemill.sources.files.objects.fetched import read_fetched, record_fetched
from tidemill.sources.files.objects.object_store import ObjectStore
from tidemill.sources.files.objects.waiting import Waiting, compare
from tidemill.sources.files.open_file_source import OpenFileSource
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.sources.fetch import Fetch
from tidemill.storage.run_context import LeasedRun

# Objects whose copies become known together: a run that is killed copies at most these again.
TOGETHER = 500


@dataclass(frozen=True)
class OpenFetchedSource(OpenFileSource):
    """A bucket, or a folder in it, and the directory of its copies."""

    def fetch(self, run: LeasedRun) -> None:
        waiting = self._waiting().new
        if not waiting:
            return
        size = bytes_in_words(sum(one.size for one in waiting))
        run.log(f"copying {counted(len(waiting), 'object')}, {size}, from {self._fetch.url}")
        for start in range(0, len(waiting), TOGETHER):
            some = waiting[start : start + TOGETHER]
            copy_objects(self._store, some, self.spec.directory, self.pipeline.name)
            record_fetched(run.layout, self.name, run.epoch, some)
            run.log(f"copied {min(start + TOGETHER, len(waiting)):,} of {len(waiting):,}")

    def probe(self, batches: Sequence[Batch]) -> ProbeResult:
        waiting = self._waiting()
        local = self._probe_of_copies(batches)
        return replace(
            local,
            new=(local.new or 0) + len(waiting.new),
            backlog_bytes=(local.backlog_bytes or 0) + waiting.backlog_bytes,
            last_arrival=max(_given(local.last_arrival, waiting.last_arrival), default=None),
            oldest_new=min(_given(local.oldest_new, waiting.oldest_new), default=None),
            problems=(*waiting.problems(self.name, self.spec), *local.problems),
            facts={**local.facts, "not_copied_yet": len(waiting.new)},
        )

    def _probe_of_copies(self, batches: Sequence[Batch]) -> ProbeResult:
        first = not self.pipeline.layout.fetched(self.name).is_dir()
        if first and not self.spec.directory.is_dir():
            # The first run makes the directory; later a missing one is a disk that is not mounted.
            return ProbeResult(self.name, new=0, unit="files")
        return super().probe(batches)

    def _waiting(self) -> Waiting:
        fetched = read_fetched(self.pipeline.layout, self.name)
        return compare(self.spec, self._store.list(), fetched)

    @cached_property
    def _store(self) -> ObjectStore:
        fetch, field = self._fetch, f"sources.{self.name}.fetch.url"
        return ObjectStore(field, fetch.url, fetch.conn_id, self.environ)

    @property
    def _fetch(self) -> Fetch:
        if self.spec.fetch is None:
            raise TypeError(self.name)
        return self.spec.fetch


def _given(*times: datetime | None) -> list[datetime]:
    return [time for time in times if time is not None]
