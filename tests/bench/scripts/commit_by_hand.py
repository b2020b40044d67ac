"""Commits Parquet files to a Delta table, with statistics of their footers, written by hand.

Arguments: the table, the folder of the files below it, `append` or `overwrite`.
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from deltalake.transaction import AddAction, create_table_with_add_actions

table, folder, mode = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
schema = Schema.from_arrow(
    pa.schema(
        [
            ("id", pa.int64()),
            ("amount", pa.decimal128(10, 2)),
            ("at", pa.timestamp("us", "UTC")),
            ("text", pa.string()),
            ("day", pa.date32()),
        ]
    )
)
actions = []
for file in sorted((table / folder).rglob("*.parquet")):
    footer = pq.read_metadata(file)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    ids = [group.column(0).statistics for group in groups]
    times = [group.column(2).statistics for group in groups]
    statistics = {
        "numRecords": footer.num_rows,
        "minValues": {
            "id": min(one.min for one in ids),
            "at": min(one.min for one in times).isoformat(timespec="microseconds"),
        },
        "maxValues": {
            "id": max(one.max for one in ids),
            "at": max(one.max for one in times).isoformat(timespec="microseconds"),
        },
        "nullCount": {"id": 0, "amount": footer.num_rows, "at": 0, "text": footer.num_rows},
    }
    status = file.stat()
    actions.append(
        AddAction(
            path=str(file.relative_to(table)),
            size=status.st_size,
            partition_values={"day": file.parent.name.removeprefix("day=")},
            modification_time=status.st_mtime_ns // 1_000_000,
            data_change=True,
            stats=json.dumps(statistics),
        )
    )
if (table / "_delta_log").is_dir():
    DeltaTable(table).create_write_transaction(actions, mode, schema, ["day"])
else:
    create_table_with_add_actions(str(table), schema, actions, mode, ["day"])
