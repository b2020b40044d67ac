"""An entry of a file sink's log, written again for a sink directory at another path."""

import json
from collections.abc import Mapping
from pathlib import Path

from tidemill.contract.errors import Refused
from tidemill.contract.objects.object_path import path_of
from tidemill.spark_logs.metadata_log import read_log_file
from tidemill.spark_logs.partition_paths import disk_path, uri
from tidemill.spark_logs.sink_log import sink_of


class EntryForeign(Refused):
    """An entry names a file that is not of its sink; carries `file`, `named` and `sink`."""


def relocated_entry(
    file: Path, batch: int, sink: Path, known: Mapping[str, int] | None = None
) -> str | None:
    """The text of an entry with each of its files below a sink, whatever root it was written for.

    Size, time and every other field stay.

    Args:
        file: The entry, of one batch or a compact one.
        sink: Where the sink directory is now.
        known: Path below the sink -> size, of every file that the entry may name; None where
            nothing but the entry tells.

    Returns:
        None where the entry names its files there already.

    Raises:
        EntryForeign: it names a file of another sink, or one that is not known.
        TornLogEntry: it is empty or cut off.
    """
    entry = read_log_file(file, batch, (1,))
    lines, rewritten = ["v1"], False
    for number, line in enumerate(entry.lines):
        status = entry.json(number)
        try:
            named, size = path_of(disk_path(status["path"])), status["size"]
        except KeyError as error:
            raise entry.torn(f"line {number + 2} lacks {error}") from error
        was = sink_of(named)
        below = named.relative_to(was)
        ours = (was.name, was.parent.name) == (sink.name, sink.parent.name)
        if not ours or (known is not None and known.get(str(below)) != size):
            raise EntryForeign(
                f"{file} names {named}, a file that {sink.name} has not committed.",
                remedy=f"Restore all of {sink} from one backup.",
                file=file,
                named=named,
                sink=sink,
            )
        if was != sink:
            rewritten = True
            # The part below the sink stays as Spark has escaped it.
            _, *rest = status["path"].rsplit("/", len(below.parts))
            path = "/".join((uri(sink), *rest))
            line = json.dumps(status | {"path": path}, separators=(",", ":"), ensure_ascii=False)
        lines.append(line)
    return "\n".join(lines) if rewritten else None
