"""Properties that a spec gives to a published table, and those that are not its to give.

delta-rs refuses a key that it does not know when the table is created, and takes any value; a wrong
one counts as not given. So both are checked here.
"""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator

from tidemill.spec.model import Disagreement
from tidemill.spec.secret_setting import is_secret
from tidemill.spec.sources.base import OptionValue, as_text

FIELD = "table_properties"
BOOLEAN = (r"true|false", "true or false")
# Shorter ones would take away what a publish that was killed looks for.
DAYS = (r"interval [1-9]\d* (day|week)s?", "days or weeks, such as interval 30 days")
DELTA = {
    "delta.checkpointInterval": (r"[1-9]\d*", "a number of commits, such as 100"),
    "delta.dataSkippingNumIndexedCols": (r"-1|\d+", "a number of columns, or -1 for all"),
    "delta.deletedFileRetentionDuration": DAYS,
    "delta.enableChangeDataFeed": BOOLEAN,
    "delta.enableExpiredLogCleanup": BOOLEAN,
    "delta.logRetentionDuration": DAYS,
}
# Property -> why Tidemill decides it itself.
DELTA_OURS = {
    "delta.appendOnly": "swaps, rebuilds and upserts take files out of the table",
    "delta.columnMapping.mode": "the table names Spark's files as they are",
    "delta.enableDeletionVectors": "files are replaced as a whole",
    "delta.minReaderVersion": "the table stays readable for every reader",
    "delta.minWriterVersion": "it follows from the other properties",
    "delta.setTransactionRetentionDuration": "the table's transactions say what was published",
}
ICEBERG_OURS = {
    "comment": "it is the spec's description",
    "commit.manifest-merge.enabled": "manifests are merged, so that their number stays small",
    "commit.retry.num-retries": "a commit that lost its race is compared again",
    "format-version": "the table is of version 2",
    "gc.enabled": "the files of mode append are the Delta table's too",
    "schema.name-mapping.default": "files of mode append are read by it",
}
ICEBERG_PREFIX = "tidemill."


def _texts(given: object) -> object:
    if not isinstance(given, Mapping):
        return given
    plain = (str, bool, int)
    return {key: as_text(one) if isinstance(one, plain) else one for key, one in given.items()}


# YAML's `true` and `100` are what people write; tables have texts alone.
TableProperties = Annotated[
    dict[str, str], BeforeValidator(_texts, json_schema_input_type=dict[str, OptionValue])
]


def check_delta(properties: Mapping[str, str]) -> None:
    """Check the properties of a Delta table.

    Raises:
        Disagreement: one is Tidemill's own, is not known, or has a value that would not count.
    """
    for name, value in properties.items():
        _is_not_ours(name, DELTA_OURS)
        if name not in DELTA:
            known = ", ".join(DELTA)
            raise _refused(name, f"'{name}' is not known to delta-rs or to Tidemill; give {known}")
        form, words = DELTA[name]
        if not re.fullmatch(form, value):
            raise _refused(name, f"{name} cannot be '{value}'; give {words}")


def check_iceberg(properties: Mapping[str, str]) -> None:
    """Check the properties of an Iceberg table.

    Raises:
        Disagreement: one is Tidemill's own, or a secret.
    """
    for name, value in properties.items():
        ours = f"{ICEBERG_PREFIX}* say what was published"
        reasons = {name: ours} if name.startswith(ICEBERG_PREFIX) else ICEBERG_OURS
        _is_not_ours(name, reasons)
        if is_secret(name, value):
            msg = f"'{name}' would put a secret into a table that many people read; leave it out"
            raise _refused(name, msg)


def _is_not_ours(name: str, ours: Mapping[str, str]) -> None:
    if name in ours:
        raise _refused(name, f"Tidemill decides {name} itself: {ours[name]}; leave it out")


def _refused(name: str, message: str) -> Disagreement:
    return Disagreement(message, FIELD, name)
