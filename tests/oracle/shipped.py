"""A shipped pipeline under a history: its own spec, transform and suite, in folders of a test's."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.oracle.recorded import place
from tests.servers.kafka import Broker
from tests.servers.kafka_client import Record
from tests.support.pipelines.json_pipeline import SUITE, JsonPipeline
from tidemill.contract.project import REPOSITORY, Project

# So few that a history has more batches than runs.
FILES_A_BATCH, RECORDS_A_BATCH, PARTITIONS = 2, 6, 2


@dataclass
class Shipped(JsonPipeline):
    """A copy of one of this repository's pipelines, under a name of its own.

    It takes less into a batch than it is shipped with, and its gate judges what a test says.

    Args:
        home: Gets `project/`, `input/` and `root/`.
        shipped: The pipeline that is copied.
        broker: Where its input then comes from, instead of files.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    transform: str = ""
    suite: Mapping[str, Any] = field(default_factory=lambda: SUITE)
    name: str = "oracle"
    shipped: str = ""
    broker: Broker | None = None

    def __post_init__(self) -> None:
        self.layout.root.mkdir(parents=True, exist_ok=True)
        ours, theirs = self.project, Project(REPOSITORY)
        code = ours.transform(self.name).with_suffix(theirs.transform(self.shipped).suffix)
        for path in (code, ours.spec(self.name), ours.suite(self.name)):
            path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(theirs.transform(self.shipped), code)
        self.spec = yaml.safe_load(theirs.spec(self.shipped).read_text())
        sources = {name: self._fed(source) for name, source in self.spec["sources"].items()}
        self.write(sources=sources, gate={"rejected": {"hold_above": 1}})
        for source in self.spec["sources"].values():
            if source["kind"] == "file":
                self.folder_of(source).mkdir(parents=True)

    def _fed(self, source: dict[str, Any]) -> dict[str, Any]:
        """A source as it is fed here."""
        if self.broker is None:
            return {**source, "maxFilesPerTrigger": FILES_A_BATCH}
        topic = f"oracle-{uuid.uuid4().hex[:12]}"
        self.broker.create_topic(topic, PARTITIONS)
        value = {"format": source["format"], "schema": source["schema"]}
        taken = {"subscribe": topic, "value": value, "maxOffsetsPerTrigger": RECORDS_A_BATCH}
        return {"kind": "kafka", **taken}

    def write(self, transform: str | None = None, **changes: Any) -> None:
        """Write spec and suite; the transform is the repository's."""
        self.spec = {**self.spec, **changes}
        self.project.spec(self.name).write_text(yaml.safe_dump(dict(self.spec), sort_keys=False))
        suite = json.dumps({**self.suite, "name": self.name})
        self.project.suite(self.name).write_text(suite)

    def edit(self, old: str, new: str) -> None:
        """The repository's transform with a text in the place of another."""
        theirs = Project(REPOSITORY).transform(self.shipped)
        text = theirs.read_text()
        assert old in text
        code = self.project.transform(self.name).with_suffix(theirs.suffix)
        code.write_text(text.replace(old, new) if old else text)

    @property
    def project(self) -> Project:
        return Project(self.home / "project")

    @property
    def environ(self) -> dict[str, str]:
        return {**super().environ, **{name: str(self.home / "input") for name in self.spec["env"]}}

    def start(self, run_id: str) -> subprocess.Popen[bytes]:
        """All steps as a process group of its own, to be killed."""
        return subprocess.Popen(
            [Path(sys.executable).with_name("tidemill"), "run", self.name, "--run-id", run_id],
            env={**self.environ, "TIDEMILL_MASTER": "local[2]"},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def deliver(self, source: str, name: str, lines: Sequence[str]) -> dict[str, list[str]]:
        """Let lines arrive; file, or place of a record -> its lines."""
        if self.broker is None:
            return {self.arrive_text(source, name, lines).name: [*lines]}
        topic = self.spec["sources"][source]["subscribe"]
        records = [Record(None, line, partition=n % PARTITIONS) for n, line in enumerate(lines)]
        ends = {at: end for at, (_, end) in self.broker.offsets(topic).items()}
        self.broker.produce(topic, records)
        return {
            place(at, ends[at] + offset): [line]
            for at in range(PARTITIONS)
            for offset, line in enumerate(lines[at::PARTITIONS])
        }

    def arrive_text(self, source: str, name: str, lines: Iterable[str]) -> Path:
        path = super().arrive_text(source, name, lines)
        wanted = self.spec["sources"][source].get("options", {}).get("pathGlobFilter", "*.json")
        return path.rename(path.with_suffix(Path(wanted).suffix))

    def folder(self, source: str) -> Path:
        return self.folder_of(self.spec["sources"][source])

    def folder_of(self, source: Mapping[str, Any]) -> Path:
        """Where a source's files arrive."""
        path = source["path"]
        for name in self.spec["env"]:
            path = path.replace(f"${{{name}}}", str(self.home / "input"))
        return Path(path)

    def put(self, path: str, lines: Iterable[str]) -> None:
        """A file under the input, such as one of a static table, in place of what was there."""
        file = self.home / "input" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.home / file.name
        draft.write_text("".join(f"{line}\n" for line in lines))
        draft.replace(file)
