"""Where the rows of a new pipeline come from: files of a folder, or the records of a topic."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.connections.airflow import connection
from tidemill.sources.files.listing import list_source
from tidemill.spec.sources.file import FileSource
from tidemill.steps.authoring.sample_rows import SampleRows, UnknownSample, json_rows, read_sample

MOST_FILES = 20
MOST_RECORDS = 2_000
TOPIC = "kafka:"
CONN_ID = "tidemill_kafka"
# What Confluent's serializers put before a value, which is then no text.
_FRAME = b"\0"


@dataclass(frozen=True)
class Delivery:
    """A sample, and the source of a spec that reads the like of it.

    Args:
        source: The lines of the source, up to where its schema follows.
        reads: What the source reads, in words: the folder and the names in it, or the topic.
        files: The files that the sample came from.
    """

    sample: SampleRows
    source: tuple[str, ...]
    reads: str
    files: tuple[Path, ...] = ()


def delivery_of(
    place: Path, format: str | None, conn_id: str, environ: Mapping[str, str] = os.environ
) -> Delivery:
    """What arrives at a place.

    Args:
        place: A file, a folder with files of one kind, or `kafka:` with the name of a topic.
        format: The files' format; guessed where not given.
        conn_id: The connection of a topic.

    Raises:
        UnknownSample: there is nothing that can be read without Spark.
        BrokerUnreachable: no broker answers in time.
    """
    if str(place).startswith(TOPIC):
        return _of_topic(str(place).removeprefix(TOPIC), format, conn_id, environ)
    files = _files(place)
    sample = read_sample(files[-MOST_FILES:], format)
    folder = place.resolve() if place.is_dir() else place.resolve().parent
    pattern = f"*{_suffix(files[0])}"
    options = {"pathGlobFilter": pattern, **sample.options}
    source = (
        "kind: file",
        f"format: {sample.format}",
        f"path: {json.dumps(str(folder), ensure_ascii=False)}",
        "options:",
        *(f"  {option}: {json.dumps(value)}" for option, value in options.items()),
    )
    return Delivery(sample, source, str(folder / pattern), tuple(files[-MOST_FILES:]))


def _of_topic(topic: str, format: str | None, conn_id: str, environ: Mapping[str, str]) -> Delivery:
    # The client is an extra, which other samples do without.
    from tidemill.sources.kafka.broker import Broker
    from tidemill.sources.kafka.last_records import last_records

    if format not in (None, "json"):
        raise UnknownSample(
            f"Records are sampled as json, and --format is {format}.",
            remedy="Leave out --format, or write the spec's value: by hand.",
            path=f"{TOPIC}{topic}",
            format=format,
        )
    server = connection(conn_id, environ)
    if topic not in Broker(server).names():
        raise UnknownSample(
            f"There is no topic '{topic}' at the brokers of {conn_id}.",
            remedy="Correct the name, or name the connection with --conn-id.",
            path=f"{TOPIC}{topic}",
        )
    values = last_records(server, topic, MOST_RECORDS)
    sample = json_rows(map(_parsed, values), {})
    if not sample.rows:
        framed = any(value is not None and value.startswith(_FRAME) for value in values)
        what = "values in a schema registry's frame" if framed else "no JSON object"
        raise UnknownSample(
            f"The last records of the topic '{topic}' hold {what}.",
            remedy="Write the spec's value: by hand; see the guide to Kafka sources.",
            path=f"{TOPIC}{topic}",
        )
    own = () if conn_id == CONN_ID else (f"conn_id: {conn_id}",)
    source = ("kind: kafka", *own, f"subscribe: {json.dumps(topic)}", "value:", "  format: json")
    return Delivery(sample, source, f"the topic {topic}")


def _parsed(value: bytes | None) -> object:
    try:
        return json.loads(value or b"")
    except ValueError:
        return None


def _files(place: Path) -> list[Path]:
    """The sample's files, the newest last."""
    if place.is_file():
        return [place.resolve()]
    found: list[Path] = []
    if place.is_dir():
        source = {"format": "text", "path": str(place.resolve()), "schema": "value string"}
        found = [file.path for file in list_source(FileSource.model_validate(source)).files]
    if not found:
        raise UnknownSample(
            f"There is no file {place}, nor in a folder of that name.",
            remedy=f"Give --from a file or a folder of the feed, or {TOPIC}TOPIC.",
            path=place,
        )
    newest = sorted(found, key=lambda path: path.stat().st_mtime)
    # The source will read these and no others.
    return [path for path in newest if _suffix(path) == _suffix(newest[-1])]


def _suffix(path: Path) -> str:
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
