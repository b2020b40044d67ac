"""The rejected rows of an increment, as its files hold them, published or not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tidemill.file_formats.table import READERS
from tidemill.increments.records import Sealed
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger


def rejected_rows(ledger: Ledger, batches: Sequence[Batch]) -> Iterator[pa.StructArray]:
    """Reason, source file, record and partition of each row, file by file."""
    written = ledger.written(batches)
    for batch in batches:
        how = written[batch.batch]
        for file in batch.outputs:
            if file.rejected and file.rows:
                yield READERS[how.format].rejects(ledger.sink / file.path, how)


def rejected_by_reason(ledger: Ledger, sealed: Sealed) -> dict[str, int]:
    """Reason -> rejected rows, the most frequent first."""
    counts = Counter[str]()
    for rows in rejected_rows(ledger, ledger.batches(sealed.first, sealed.last)):
        for found in pc.value_counts(rows.field("reason")).to_pylist():
            counts[str(found["values"])] += found["counts"]
    return dict(counts.most_common())


def reasons_counted(reasons: Mapping[str, int]) -> str:
    """Reasons as people read them, such as `480 malformed, 20 rule station_known`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
