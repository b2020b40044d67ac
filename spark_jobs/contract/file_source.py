"""A file source of a spec: where files arrive, how Spark reads them, and what the doctor rates."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator

from spark_jobs.contract.ddl import column_names
from spark_jobs.contract.hadoop_glob import python_globs
from spark_jobs.contract.quantities import Duration, Size
from spark_jobs.contract.source import BaseSource, Ddl, Rating, checked_columns

FileFormat = Literal["csv", "json", "parquet", "orc", "text", "avro"]
DEFAULT_OPTIONS: dict[str, dict[str, str]] = {
    # A header that does not match the schema is an error, not columns silently swapped.
    "csv": {"header": "true", "enforceSchema": "false"},
}
ENGINE_OPTIONS = frozenset({"path", "schema", "mode", "columnnameofcorruptrecord", "cleansource"})


class FileSource(BaseSource):
    """Files that appear in a directory.

    Attributes:
        path: The directory (or glob) that Spark lists.
        schema_: The columns, as Spark DDL; never inferred.
        maxFilesPerTrigger: Most files one batch may take; 1000 where neither limit is given.
        maxBytesPerTrigger: Most bytes one batch may take.
        changed: What to do when a file that was read has changed since.
        too_old: What to do when a file is older than `maxFileAge` lets Spark see.
        redelivered: What to do when a name that was read arrives anew with other content.
        same_content: What to do when content that was read arrives under another name.
    """

    kind: Literal["file"] = "file"
    format: FileFormat
    path: Annotated[str, StringConstraints(min_length=1)]
    schema_: Ddl = Field(alias="schema")
    maxFilesPerTrigger: Annotated[int, Field(gt=0)] | None = None
    maxBytesPerTrigger: Size | None = None
    maxFileAge: Duration | None = None
    latestFirst: bool = False
    fileNameOnly: bool = False
    cleanSource: Literal["off", "delete", "archive"] = "off"
    sourceArchiveDir: str | None = None
    changed: Rating = Rating.HOLD
    too_old: Rating = Rating.HOLD
    redelivered: Rating = Rating.HOLD
    same_content: Rating = Rating.WARN

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        return checked_columns(ddl)

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
        given = super().reader_options
        overridden = {name.lower() for name in given}
        defaults = DEFAULT_OPTIONS.get(self.format, {}).items()
        return {**{k: v for k, v in defaults if k.lower() not in overridden}, **given}

    @property
    def rate_limits(self) -> tuple[str, ...]:
        limits = ("maxFilesPerTrigger", "maxBytesPerTrigger")
        return tuple(name for name in limits if name in self.model_fields_set)

    def reader_option(self, name: str) -> str | None:
        """One of the reader's options, whatever its case; None where it is not given."""
        options = {key.lower(): value for key, value in self.reader_options.items()}
        return options.get(name.lower())
