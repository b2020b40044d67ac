"""A file source of a spec: where files arrive, how Spark reads them, and what the doctor rates."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from tidemill.contract.syntax.hadoop_glob import fixed_part, python_globs
from tidemill.contract.syntax.quantities import Duration, Size
from tidemill.spec.formats.rules import LOSSY, FormatRules, with_defaults
from tidemill.spec.formats.table import FORMATS, FileFormat, jars_of_format
from tidemill.spec.model import Disagreement
from tidemill.spec.sources.base import (
    OptionValue,
    Rating,
    TypedSource,
)
from tidemill.spec.sources.fetch import Fetch
from tidemill.spec.sources.format_schema import unfit_schema
from tidemill.spec.sources.new_fields import (
    NewFieldsPolicy,
    misplaced_policy,
    policy_of,
    rescue_column,
    with_rescue_column,
    without_default,
)


def _local(path: str) -> str:
    if "://" in path or not PurePosixPath(path).is_absolute():
        remedy = "write it from the root on, such as /srv/landing"
        if "://" in path:
            remedy = "name a bucket under fetch.url"
        msg = f"'{path}' is not an absolute path of a local directory; {remedy}"
        raise ValueError(msg)
    if ".." in PurePosixPath(path).parts or "\0" in path:
        msg = f"'{path}' leaves its root; write it without '..'"
        raise ValueError(msg)
    return path


LocalPath = Annotated[str, StringConstraints(min_length=1), AfterValidator(_local)]


class FileSource(TypedSource):
    """Files that appear in a directory.

    Attributes:
        format: The format of the files.
        maxFileAge: How much older than the newest file a file may be before Spark passes over it.
        latestFirst: Whether the newest files are read first.
        fileNameOnly: Whether a file is known by its name alone, without its folder.
        path: The directory (or glob) that Spark lists.
        fetch: The object store whose objects are copied into `path` before a query starts.
        maxFilesPerTrigger: Most files one batch may take; 1000 where neither limit is given.
        maxBytesPerTrigger: Most bytes one batch may take.
        changed: What to do when a file that was read has changed since.
        too_old: What to do when a file is older than `maxFileAge` lets Spark see.
        redelivered: What to do when a name that was read arrives again with other content.
        same_content: What to do when content that was read arrives under another name.
        vanished: What to do when files were read, and none of them is there any more, as when the
            disk is not mounted. Files that `cleanSource` put away are not missed.
        not_utf8: What to do when a file's name is not UTF-8, so that Spark does not see the file.
        other_schema: What to do when a file lacks a column or has another type for it, of which
            Spark would make nulls or other values (parquet, orc, avro). Where the spec
            gives it, it also rates a column or field that the schema does not name, of CSV and
            JSON one in a file's first line; otherwise that is only said.
        part_read: What to do when Spark would silently read only a part of a file: one that is cut
            short (parquet, orc, avro, xml), is empty although its format has no empty files, holds
            more than one JSON value under `multiLine`, has a line break inside the quotes of CSV,
            which takes `multiLine`, or rows of XML that Spark does not find.
        undecodable: Whether a row with bytes that are not in its encoding is rejected as malformed,
            or U+FFFD replaces them, as Spark does (csv, json, text, xml). A row that was delivered
            with U+FFFD is taken for one whose bytes were replaced before.
        new_fields: What becomes of fields of JSON that the schema does not name: they are ignored,
            the run is refused before a row of the batch counts, or a column gets them as JSON.
        falling_behind: What to do when more arrives than is processed over several runs.
        cleanSource: What becomes of a file whose rows are published.
        sourceArchiveDir: Where `archive` puts it, under its whole path, as Spark does.
    """

    HOW_READ: ClassVar = frozenset({"format", "schema_", "options", "undecodable", "new_fields"})
    LISTS_FILES: ClassVar = True
    READS_AGAIN: ClassVar = True
    NOT_CONTINUOUS: ClassVar = "Continuous processing does not support StreamingRelation operations"

    kind: Literal["file"] = "file"
    format: FileFormat
    path: LocalPath
    fetch: Fetch | None = None
    maxFilesPerTrigger: Annotated[int, Field(gt=0)] | None = None
    maxBytesPerTrigger: Size | None = None
    maxFileAge: Duration | None = None
    latestFirst: bool = False
    fileNameOnly: bool = False
    cleanSource: Literal["off", "delete", "archive"] = "off"
    sourceArchiveDir: LocalPath | None = None
    changed: Rating = Rating.HOLD
    too_old: Rating = Rating.HOLD
    redelivered: Rating = Rating.HOLD
    same_content: Rating = Rating.WARN
    vanished: Rating = Rating.HOLD
    not_utf8: Rating = Rating.HOLD
    other_schema: Rating = Rating.HOLD
    part_read: Rating = Rating.HOLD
    undecodable: Literal["reject", "replace"] = "reject"
    new_fields: NewFieldsPolicy = "ignore"
    falling_behind: Rating = Rating.WARN

    @field_validator("path")
    @classmethod
    def _is_a_glob(cls, path: str) -> str:
        python_globs(path)
        return path

    @field_validator("options")
    @classmethod
    def _filter_is_a_glob(cls, options: dict[str, OptionValue]) -> dict[str, OptionValue]:
        for name, value in options.items():
            if name.lower() == "pathglobfilter":
                python_globs(str(value))
        return options

    @model_validator(mode="after")
    def _options_have_their_place(self) -> Self:
        for name in self.options:
            refused = self.rules.reader_option_refused(name)
            if refused:
                raise Disagreement(refused, "options", name)
        missing = self.rules.option_missing(self.options)
        if missing:
            raise Disagreement(missing, "options")
        return self

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.maxFilesPerTrigger is not None and self.maxBytesPerTrigger is not None:
            msg = "maxFilesPerTrigger and maxBytesPerTrigger exclude each other in Spark; keep one"
            raise Disagreement(msg, "maxBytesPerTrigger")
        if (self.cleanSource == "archive") is not (self.sourceArchiveDir is not None):
            msg = "cleanSource archive and sourceArchiveDir need each other"
            raise Disagreement(msg, "cleanSource")
        if self.fetch is not None and self.path != str(self.directory):
            msg = "fetch copies into one directory; give path without '*' and set pathGlobFilter"
            raise Disagreement(msg, "path")
        archive = PurePosixPath(self.sourceArchiveDir) if self.sourceArchiveDir else None
        if archive is not None and archive.is_relative_to(self.directory):
            msg = f"sourceArchiveDir '{archive}' is in {self.directory}, where files are read"
            raise Disagreement(msg, "sourceArchiveDir")
        unfit = unfit_schema(self.rules, self.types)
        if unfit:
            raise Disagreement(unfit, "schema")
        misplaced = misplaced_policy(self.new_fields, self.schema_, self.format)
        if misplaced or (self.new_fields != "ignore" and not self.in_lines):
            raise Disagreement(misplaced or "singleVariantColumn has all fields", "new_fields")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        return (*super().columns, *rescue_column(self.new_fields))

    @property
    def ddl(self) -> str:
        return with_rescue_column(self.schema_, self.new_fields)

    @property
    def rules(self) -> FormatRules:
        """The rules of its format."""
        return FORMATS[self.format]

    @property
    def conn_id(self) -> str | None:
        """The Airflow connection of the object store that its files come from."""
        return self.fetch.conn_id if self.fetch else None

    @property
    def encoding(self) -> str:
        """The encoding of its files, where they are text."""
        return self.reader_option("encoding") or self.reader_option("charset") or "UTF-8"

    @property
    def in_lines(self) -> bool:
        """Whether its files are read as text: lines, or JSON that goes over lines."""
        if self.format == "json":
            return self.reader_option("singleVariantColumn") is None
        return self.rules.one_text

    @property
    def jar_sets(self) -> frozenset[str]:
        return jars_of_format(self.format)

    @property
    def hashes_content(self) -> bool:
        return self.same_content is not Rating.IGNORE

    @property
    def copied(self) -> bool:
        return self.fetch is not None

    @property
    def cleans(self) -> bool:
        return self.cleanSource != "off"

    @property
    def cleans_objects(self) -> bool:
        return self.fetch is not None and self.fetch.clean != "off"

    @property
    def directory(self) -> Path:
        """The directory that all files are in: of a glob, the part before anything special."""
        return fixed_part(self.path)

    @property
    def lossy_options(self) -> tuple[str, ...]:
        """The given options that let Spark leave rows out and go on."""
        return tuple(name for name in LOSSY if self.is_on(name))

    @property
    def reader_options(self) -> dict[str, str]:
        """Every option for Spark's reader, as text: our defaults, then the spec's own."""
        return with_defaults(super().reader_options, self.rules.reader_defaults)

    @property
    def changed_defaults(self) -> Mapping[str, str]:
        """The options at a default that was another one for older generations."""
        given = {name.lower() for name in self.options}
        defaults = self.rules.reader_defaults
        changed = self.rules.former_defaults
        return {name: defaults[name] for name in changed if name.lower() not in given}

    def reading(self) -> dict[str, Any]:
        options = {**self.changed_defaults, **self.options}
        return without_default({**super().reading(), "options": options})

    def as_read(self, fields: Mapping[str, Any]) -> Self:
        former = FORMATS[fields.get("format", self.format)].former_defaults
        options = with_defaults(fields.get("options", {}), former)
        return super().as_read({**fields, "options": options, "new_fields": policy_of(fields)})

    @property
    def rate_limits(self) -> tuple[str, ...]:
        limits = ("maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst")
        return tuple(name for name in limits if name in self.model_fields_set)

    def reader_option(self, name: str) -> str | None:
        """One of the reader's options, whatever its case; None where it is not given."""
        options = {key.lower(): value for key, value in self.reader_options.items()}
        return options.get(name.lower())

    def is_on(self, name: str) -> bool:
        """Whether one of the reader's options is given as true."""
        return (self.reader_option(name) or "").lower() == "true"
