"""Repairs `offsets/`, `commits/` and `metadata` from the ledger and the note."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemill.generations.repairs.repair import Repair, unknown
from tidemill.ledger.batch import Batch
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.ledger import Ledger
from tidemill.spark_logs.commit_log import read_commit
from tidemill.spark_logs.metadata_log import TornLogEntry, batch_files
from tidemill.spark_logs.offset_log import read_offsets
from tidemill.spark_logs.state_versions import state_missing

Read = Callable[[Path, int], object]


@dataclass(frozen=True)
class KnownBatches:
    """The contents of the entries of committed batches."""

    ledger: Ledger
    note: GenerationNote

    @property
    def checkpoint(self) -> Path:
        return self.ledger.checkpoint

    def repairs(self) -> Iterator[Repair]:
        """The torn or missing entries of batches that the ledger knows.

        Raises:
            EntryUnknown: something of it cannot be rewritten.
        """
        found = [
            *self._of_log("offsets", read_offsets, self._offsets),
            *self._of_log("commits", read_commit, self._commit),
        ]
        if found:
            self._prove_state(found[-1].file)
        yield from self._metadata()
        yield from found

    def _metadata(self) -> Iterator[Repair]:
        file = self.checkpoint / "metadata"
        try:
            said = json.loads(file.read_bytes())["id"]
        except FileNotFoundError:
            why = "it is missing"
        except (ValueError, KeyError, TypeError):
            why = "it holds no query id"
        else:
            if said:
                return
            why = "its query id is empty"
        yield Repair(file, why, json.dumps({"id": self.note.query_id}))

    def _of_log(
        self, log: str, read: Read, text: Callable[[Batch, Path, Path | None], str]
    ) -> Iterator[Repair]:
        last = self.ledger.latest()
        if last < 0:
            return
        files = batch_files(self.checkpoint / log)
        problems = {n: problem for n, file in files.items() if (problem := _torn(file, n, read))}
        # Spark expires the oldest; what is after one that is there must be there.
        needed = range(min([*files, last]), last + 1)
        problems |= {n: "it is missing" for n in needed if n not in files}
        whole = [n for n in files if n not in problems]
        for number in sorted(n for n in problems if n <= last):
            (batch,) = self.ledger.batches(number, number)
            file = self.checkpoint / log / str(number)
            nearest = min(whole, key=lambda n: abs(n - number), default=None)
            model = None if nearest is None else files[nearest]
            yield Repair(file, problems[number], text(batch, file, model))

    def _offsets(self, batch: Batch, file: Path, model: Path | None) -> str:
        """The plan of a batch, with its time to the second only.

        That time counts while the batch runs, and the batch is committed.
        """
        if model is None or self.note.continuous:
            raise self._unknown(file, "no other entry tells its settings")
        version, metadata, *_ = model.read_text("utf-8").split("\n")
        said = json.loads(metadata)
        said["batchWatermarkMs"] = batch.watermark_before_ms
        said["batchTimestampMs"] = int(batch.committed.timestamp() * 1000)
        sources = read_offsets(model, int(model.name)).sources
        if set(sources) != set(batch.offsets):
            raise self._unknown(file, "the query has other sources since")
        texts = {name: _json(batch.offsets[name]) for name in sources}
        named = version != "v1"
        lines = (f"{name}:{text}" if named else text for name, text in texts.items())
        return "\n".join((version, _json(said), *lines))

    def _commit(self, batch: Batch, file: Path, model: Path | None) -> str:
        version, said = "v1", dict[str, Any]()
        if model is not None:
            version, metadata, *_ = model.read_text("utf-8").split("\n")
            said = json.loads(metadata)
        if said.get("stateUniqueIds"):
            raise self._unknown(file, "it names files of state by ids that nothing else holds")
        return f"{version}\n{_json(said | {'nextBatchWatermarkMs': batch.watermark_after_ms})}"

    def _prove_state(self, file: Path) -> None:
        """Without the state of its last batch a query would go on as if the rows had not come."""
        missing = state_missing(self.checkpoint, self.ledger.latest() + 1)
        if missing:
            raise self._unknown(
                file, f"{missing[0]} does not hold what batch {self.ledger.latest()} left"
            )

    def _unknown(self, file: Path, why: str) -> Exception:
        return unknown(file, why, self.checkpoint, self.ledger.layout.name)


def _torn(file: Path, number: int, read: Read) -> str | None:
    try:
        read(file, number)
    except TornLogEntry as error:
        return str(error.reason)
    return None


def _json(value: Mapping[str, Any] | Any) -> str:
    if value is None:
        return "-"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
