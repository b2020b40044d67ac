"""Notes on partitions that time does not tell, so that no interval of them can be backfilled."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from tidemill.contract.errors import SpecError, UsageError
from tidemill.contract.project import spec_files
from tidemill.spec.load import load_spec
from tidemill.spec.spec import Spec


def backfill_notes(
    names: Sequence[str] = (), environ: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """A sentence for each pipeline whose partitions are computed again by name, not by interval.

    Args:
        names: The pipelines; all on the search path where none is given.
    """
    # A pipeline that is there twice, or a spec that does not load, is a problem, and no note.
    with suppress(UsageError):
        for _, path in spec_files(environ):
            if not names or path.stem in names:
                with suppress(SpecError):
                    yield from backfill_note(path.stem, load_spec(path))


def backfill_note(name: str, spec: Spec) -> Iterator[str]:
    """The sentence about one pipeline; none where an interval tells its partitions."""
    partitions = spec.output.partition_by
    times = [spec.event_time_of(source) for source in spec.sources]
    columns = {time.column for time in times if time is not None}
    # One that names no column of a source is made of a window.
    known = {"_metadata", *(name for one in spec.sources.values() for name in one.columns)}
    timed = [sql for sql in partitions.values() if _names(sql, columns) or not _names(sql, known)]
    if not spec.published or not partitions or (timed and len(columns) > 0):
        return
    values = "/".join(f"{column}=VALUE" for column in partitions)
    yield (
        f"{name}: no event time tells its partitions ({', '.join(partitions)}), so an interval "
        f"cannot be backfilled. Name partitions: tidemill backfill {name} --partition {values}; "
        f"with state between batches only this helps: tidemill rebuild {name} --reason TEXT."
    )


def _names(sql: str, columns: set[str]) -> bool:
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    return any(column.lower() in words for column in columns)
