"""A file source of a spec: where files arrive, how Spark reads them, and what the doctor rates."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator

from spark_jobs.contract.ddl import column_names
from spark_jobs.contract.hadoop_glob import python_globs
from spark_jobs.contract.model import ENGINE_PREFIX, Model, doubled_in
from spark_jobs.contract.quantities import Duration

DEFAULT_OPTIONS: dict[str, dict[str, str]] = {
    # A header that does not match the schema is an error, not columns silently swapped.
    "csv": {"header": "true", "enforceSchema": "false"},
    "json": {},
    "parquet": {},
}
ENGINE_OPTIONS = frozenset({"path", "schema", "mode", "columnnameofcorruptrecord", "cleansource"})


class SilentLoss(StrEnum):
    """What the doctor does about input that Spark would pass over without a word."""

    REFUSE = "refuse"
    WARN = "warn"
    IGNORE = "ignore"


class FileSource(Model):
    """Files that appear in a directory.

    Attributes:
        path: The directory (or glob) that Spark lists.
        schema_: The columns, as Spark DDL; never inferred.
        options: Spark's reader options by Spark's names.
        maxFilesPerTrigger: Most files one batch may take.
        changed: What to do when a file that was read has changed since.
        too_old: What to do when a file is older than `maxFileAge` lets Spark see.
    """

    kind: Literal["file"] = "file"
    format: Literal["csv", "json", "parquet"]
    path: Annotated[str, StringConstraints(min_length=1)]
    schema_: Annotated[str, StringConstraints(min_length=1)] = Field(alias="schema")
    options: dict[str, str | bool | int] = {}
    maxFilesPerTrigger: Annotated[int, Field(gt=0)] = 1000
    maxFileAge: Duration | None = None
    latestFirst: bool = False
    changed: SilentLoss = SilentLoss.REFUSE
    too_old: SilentLoss = SilentLoss.REFUSE

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        names = column_names(ddl)
        doubled = doubled_in(names)
        if doubled:
            msg = f"column '{doubled}' is given twice; Spark's columns know no case"
            raise ValueError(msg)
        reserved = [name for name in names if name.startswith(ENGINE_PREFIX)]
        if reserved:
            msg = f"column '{reserved[0]}' begins with '_', which is kept for the engine"
            raise ValueError(msg)
        return ddl

    @field_validator("path")
    @classmethod
    def _local(cls, path: str) -> str:
        if "://" in path or not PurePosixPath(path).is_absolute():
            msg = f"'{path}' must be an absolute path of a local directory"
            raise ValueError(msg)
        if ".." in PurePosixPath(path).parts or "\0" in path:
            msg = f"'{path}' leaves its root; write it without '..'"
            raise ValueError(msg)
        python_globs(path)
        return path

    @field_validator("options")
    @classmethod
    def _not_the_engines(cls, options: dict[str, Any]) -> dict[str, Any]:
        taken = [name for name in options if name.lower() in ENGINE_OPTIONS]
        if taken:
            msg = f"option '{taken[0]}' is set by the engine; remove it"
            raise ValueError(msg)
        doubled = doubled_in(options)
        if doubled:
            msg = f"option '{doubled}' is given twice; Spark's options know no case"
            raise ValueError(msg)
        for name, value in options.items():
            if name.lower() == "pathglobfilter":
                python_globs(str(value))
        return options

    @property
    def columns(self) -> tuple[str, ...]:
        return column_names(self.schema_)

    @property
    def reader_options(self) -> dict[str, str]:
        """Every option for Spark's reader, as text: our defaults, then the spec's own."""
        given = {name: _as_text(value) for name, value in self.options.items()}
        overridden = {name.lower() for name in given}
        defaults = DEFAULT_OPTIONS[self.format].items()
        return {**{k: v for k, v in defaults if k.lower() not in overridden}, **given}

    def reader_option(self, name: str) -> str | None:
        """One of the reader's options, whatever its case; None where it is not given."""
        options = {key.lower(): value for key, value in self.reader_options.items()}
        return options.get(name.lower())


def _as_text(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
