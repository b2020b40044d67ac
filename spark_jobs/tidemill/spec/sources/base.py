"""What a spec says of a source: the questions that every kind of source answers."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tidemill.contract.syntax.ddl import (
    DdlType,
    column_names,
    column_types,
    fixed_length_type,
    refuse_unknown_types,
)
from tidemill.spec.event_time import EventTime
from tidemill.spec.model import Expression, Model, Name, doubled_in, is_engine_column, nearest

# Spark DDL; a spec may name a file of the project in its place, which is read before the spec is.
Ddl = Annotated[
    str,
    StringConstraints(min_length=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "object",
                    "properties": {"file": {"type": "string", "description": "In the project."}},
                    "required": ["file"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
OptionValue = str | bool | int


def _given_once(options: dict[str, OptionValue]) -> dict[str, OptionValue]:
    doubled = doubled_in(options)
    if doubled:
        msg = f"option '{doubled}' is given twice; Spark's options know no case"
        raise ValueError(msg)
    return options


Options = Annotated[dict[str, OptionValue], AfterValidator(_given_once)]


class Rating(StrEnum):
    """What the doctor does about something that Spark would silently skip."""

    HOLD = "hold"
    WARN = "warn"
    IGNORE = "ignore"


class BaseSource(Model):
    """A source of a query, under Spark's own option names.

    Attributes:
        options: Further options of Spark's reader, by Spark's names.
        event_time: Where it differs from the spec's.
        row_rules: In addition to the spec's.
        HOW_READ: The fields that decide which rows Spark makes of the input.
        LISTS_FILES: Whether Spark lists the input as files, whose bytes can be counted.
        READS_AGAIN: Whether what a committed batch has read can be read again.
        REAL_TIME: Whether Spark reads it in real-time mode.
        NOT_CONTINUOUS: Why Spark refuses it under a continuous trigger; None where it does not.
    """

    HOW_READ: ClassVar[frozenset[str]] = frozenset({"options"})
    LISTS_FILES: ClassVar[bool] = False
    READS_AGAIN: ClassVar[bool] = False
    REAL_TIME: ClassVar[bool] = False
    NOT_CONTINUOUS: ClassVar[str | None] = None

    options: Options = {}
    event_time: EventTime | None = None
    row_rules: dict[Name, Expression] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the transform sees, without the engine's own."""
        raise NotImplementedError

    @property
    def ddl(self) -> str | None:
        """The columns as Spark DDL; None where the spec does not name them with their types."""
        return None

    @property
    def reads_pipeline(self) -> str | None:
        """The pipeline whose published table it reads; None where it reads none."""
        return None

    def type_of(self, column: str) -> str | None:
        """The name of a column's type, such as `timestamp`; None where the spec does not tell."""
        return None if self.ddl is None else column_types(self.ddl)[column].name

    @property
    def partitions(self) -> int | None:
        """How many tasks read it at the same time; None where the spec does not say."""
        return None

    @property
    def jar_sets(self) -> frozenset[str]:
        """The sets of jars that reading it needs beside Spark's own."""
        return frozenset()

    @property
    def decoded_by_python(self) -> bool:
        """Whether a Python function makes columns of the input, and not Spark."""
        return False

    @property
    def hashes_content(self) -> bool:
        """Whether input files are compared by their content."""
        return False

    @property
    def copied(self) -> bool:
        """Whether input is copied to where Spark reads it, before a query starts."""
        return False

    @property
    def cleans(self) -> bool:
        """Whether input files are put away once their rows are published."""
        return False

    @property
    def cleans_objects(self) -> bool:
        """Whether the objects that they were copied from are put away likewise."""
        return False

    @property
    def replayable(self) -> bool:
        """Whether the same offsets give the same rows again, as exactly-once demands."""
        return True

    @property
    def rate_limits(self) -> tuple[str, ...]:
        """The given options that bound a batch, which the trigger `once` ignores."""
        return ()

    @property
    def lossy_options(self) -> tuple[str, ...]:
        """The given options that let Spark leave rows out and go on."""
        return ()

    @property
    def reader_options(self) -> dict[str, str]:
        """The options for Spark's reader, as text."""
        return {name: as_text(value) for name, value in self.options.items()}

    def reading(self) -> dict[str, Any]:
        """The values of `HOW_READ`, as plain data."""
        return self.model_dump(mode="json", include={*self.HOW_READ})

    def as_read(self, fields: Mapping[str, Any]) -> Self:
        """The source with other values of `HOW_READ`.

        Args:
            fields: Field -> value, as `reading` gives it.
        """
        return self.model_copy(update=fields)

    @model_validator(mode="after")
    def _event_time_is_a_column(self) -> Self:
        if self.event_time and self.event_time.column not in self.columns:
            msg = (
                f"event_time.column '{self.event_time.column}' is not in the source's schema; "
                f"{nearest(self.event_time.column, self.columns)}"
            )
            raise ValueError(msg)
        return self


class TypedSource(BaseSource):
    """A source whose columns the spec names with their types; they are never inferred.

    Attributes:
        schema_: The columns, as Spark DDL, or `{file: …}` in the project.
    """

    schema_: Ddl = Field(alias="schema")

    @field_validator("schema_")
    @classmethod
    def _readable(cls, ddl: str) -> str:
        return checked_columns(ddl)

    @property
    def columns(self) -> tuple[str, ...]:
        return column_names(self.schema_)

    @property
    def ddl(self) -> str:
        return self.schema_

    @property
    def types(self) -> Mapping[str, DdlType]:
        """Column -> its type."""
        return column_types(self.schema_)


def checked_columns(ddl: str) -> str:
    """A schema whose columns may stand in a table.

    Raises:
        ValueError: a column or a field of a struct is given twice, a column is kept for the
            engine, a type is one that Spark does not know or that its readers refuse, or the text
            is not DDL.
    """
    refuse_unknown_types(ddl)
    check_names(column_names(ddl), "column")
    fixed = fixed_length_type(ddl)
    if fixed:
        msg = f"Spark's readers have no type {fixed}; write string"
        raise ValueError(msg)
    for name, kind in column_types(ddl).items():
        _refuse_doubled_fields(name, kind)
    return ddl


def _refuse_doubled_fields(path: str, kind: DdlType) -> None:
    doubled = doubled_in(kind.fields)
    if doubled:
        msg = f"field '{path}.{doubled}' is given twice; no table tells names apart by case"
        raise ValueError(msg)
    for name, field in kind.fields.items():
        _refuse_doubled_fields(f"{path}.{name}", field)
    for part in (kind.keys, kind.items):
        if part is not None:
            _refuse_doubled_fields(path, part)


def check_names(names: Sequence[str], what: str) -> None:
    """Prove that columns may stand in a table.

    Args:
        names: The columns.
        what: What an error calls one of them.

    Raises:
        ValueError: one is given twice, or is kept for the engine.
    """
    doubled = doubled_in(names)
    if doubled:
        msg = f"{what} '{doubled}' is given twice; Spark's columns know no case"
        raise ValueError(msg)
    reserved = next(filter(is_engine_column, names), None)
    if reserved:
        msg = f"{what} '{reserved}' is kept for the engine; rename it where it is made"
        raise ValueError(msg)


def as_text(value: OptionValue) -> str:
    """An option's value as Spark takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
