"""The base of a spec's parts: frozen models without unknown keys, and checked names."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, WithJsonSchema

from tidemill.contract.syntax.sql_text import without_java

# The columns that the engine adds to rows, in lower case, and how its other names begin.
ENGINE_COLUMNS = frozenset({"_corrupt", "_metadata", "_origin", "_record", "_reject", "_rejected"})
ENGINE_PREFIX = "_tidemill_"


class Model(BaseModel):
    """A part of a spec."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _stays_inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or len(path.parts) != 1:
        msg = f"'{name}' must be a plain name, without folders"
        raise ValueError(msg)
    return name


# Kafka's own rule (org.apache.kafka.common.internals.Topic).
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")


def _is_a_topic(name: str) -> str:
    if not _TOPIC.fullmatch(name):
        msg = (
            f"'{name}' is not a Kafka topic's name; use letters, digits, '.', '_' and '-', "
            "at most 249"
        )
        raise ValueError(msg)
    return name


Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
# A name that needs no quotes anywhere.
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
# A column as it comes: with dots, spaces, any letters. No quoting takes the rest everywhere.
Column = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f`]+$")]
# Spark SQL over the columns of a row, or an aggregate over those of many.
Expression = Annotated[str, StringConstraints(min_length=1), AfterValidator(without_java)]
PlainName = Annotated[str, AfterValidator(_stays_inside), StringConstraints(min_length=1)]
Topic = Annotated[
    str,
    AfterValidator(_is_a_topic),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9._-]{1,249}$"}),
]


class Disagreement(ValueError):
    """Parts of a spec that do not go together.

    Args:
        message: What is wrong.
        at: The part to change, as its location in the model that says so.
    """

    def __init__(self, message: str, *at: str | int) -> None:
        super().__init__(message)
        self.at = at


def is_engine_column(name: str) -> bool:
    """Whether a column's name is kept for the engine; Spark's columns know no case."""
    return name.lower() in ENGINE_COLUMNS or name.lower().startswith(ENGINE_PREFIX)


def doubled_in(names: Iterable[str]) -> str | None:
    """The first name that is there twice; neither Spark nor Delta tells names apart by case."""
    seen = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def nearest(word: str, known: Collection[str]) -> str:
    """The end of a sentence about a word that is not known: the one meant, or those there are."""
    near = get_close_matches(word, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"use one of: {', '.join(known)}"
