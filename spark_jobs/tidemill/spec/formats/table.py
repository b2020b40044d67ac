"""All file formats by their names: the only place where a name in a spec becomes rules."""

from collections.abc import Mapping
from typing import Literal

from tidemill.spec.formats.avro import AVRO
from tidemill.spec.formats.csv import CSV
from tidemill.spec.formats.json import JSON
from tidemill.spec.formats.orc import ORC
from tidemill.spec.formats.parquet import PARQUET
from tidemill.spec.formats.rules import FormatRules
from tidemill.spec.formats.text import TEXT
from tidemill.spec.formats.xml import XML

OutputFormat = Literal["csv", "json", "parquet", "orc", "text", "avro"]
FileFormat = Literal[OutputFormat, "xml"]
FORMATS: Mapping[str, FormatRules] = {
    rules.name: rules for rules in (CSV, JSON, PARQUET, ORC, TEXT, AVRO, XML)
}


def jars_of_format(name: str) -> frozenset[str]:
    """The sets of jars that a format needs beside Spark's own; none for a name that is not here."""
    jars = FORMATS[name].jars if name in FORMATS else None
    return frozenset() if jars is None else frozenset({jars})
