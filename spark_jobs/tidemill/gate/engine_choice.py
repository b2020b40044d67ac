"""Chooses between the two engines of the gate, which have one interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tidemill.gate.columns import Column, parse_columns
from tidemill.gate.equivalence import obstacle
from tidemill.gate.gx_internals.quick_import import import_great_expectations
from tidemill.gate.sample import Rows, Sample, SampleFile
from tidemill.gate.suite import Expectation, Suite
from tidemill.increments.judgement import EngineName
from tidemill.spec.formats.table import FORMATS

if TYPE_CHECKING:
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.data_context.data_context.abstract_data_context import (
        AbstractDataContext,
    )


class Engine(Protocol):
    """Reads files as a DataFrame that Great Expectations can judge."""

    @property
    def name(self) -> EngineName: ...

    @property
    def scans_for_samples(self) -> bool:
        """Whether values that fail are looked for in a scan of each expectation's own."""
        ...

    def read(self, sample: Sample, files: tuple[SampleFile, ...]) -> Rows:
        """The rows of the files, with the good table's columns in their judged form."""
        ...

    def arguments(self, expectation: Expectation, sample: Sample) -> Mapping[str, Any]:
        """The arguments of an expectation, said so that this engine means what the suite means."""
        ...

    def batch_definition(self, context: AbstractDataContext, rows: Rows) -> BatchDefinition[Any]:
        """A data source and an asset of Great Expectations for these rows alone."""
        ...


@dataclass(frozen=True)
class EngineChoice:
    """The engine that judges, and the reason for the choice."""

    engine: EngineName
    why: str


def choose_engine(
    uncompressed_bytes: int, limit: int, suite: Suite, columns: str, formats: Iterable[str] = ()
) -> EngineChoice:
    """In-process where the rows fit and pandas is proven to agree with Spark.

    Args:
        uncompressed_bytes: The uncompressed bytes of all files that are judged, by their footers.
        limit: The spec's `gate.in_process_max`, in bytes.
        suite: What is judged.
        columns: The good table's schema, as Spark's JSON.
        formats: The formats of the files; what Spark wrote in any other than Parquet, Spark reads.
    """
    if not suite.expectations:
        return EngineChoice("in_process", "no suite")
    other = next((format for format in formats if not FORMATS[format].for_tables), None)
    if other is not None:
        return EngineChoice("spark", f"files are {other}")
    parsed = parse_columns(columns)
    for expectation in suite.expectations:
        why = _obstacle(suite, expectation, parsed)
        if why is not None:
            return EngineChoice("spark", why)
    if uncompressed_bytes > limit:
        return EngineChoice("spark", f"{uncompressed_bytes} bytes exceed {limit}")
    return EngineChoice("in_process", f"{uncompressed_bytes} bytes are within {limit}")


def _obstacle(suite: Suite, expectation: Expectation, columns: Mapping[str, Column]) -> str | None:
    if expectation.type not in suite.own:
        return obstacle(expectation, columns)
    # Here and not above: it imports Great Expectations, which costs seconds.
    import_great_expectations()
    from tidemill.gate.own_expectations import obstacle_of_own

    return obstacle_of_own(suite, expectation, columns)
