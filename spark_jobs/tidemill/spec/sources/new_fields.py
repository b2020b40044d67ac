"""What becomes of the fields of JSON that a schema does not name."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import TypeAdapter

from tidemill.contract.syntax.ddl import column_names
from tidemill.spec.model import Column, Model, is_engine_column


class Rescue(Model):
    """They are collected in a column.

    Attributes:
        rescue: The column, which holds them as JSON; null in a row that has none.
    """

    rescue: Column


NewFieldsPolicy = Literal["ignore", "refuse"] | Rescue
_FIELD = "new_fields"


def rescue_column(policy: NewFieldsPolicy) -> tuple[str, ...]:
    """The column that they are collected in, where there is one."""
    return (policy.rescue,) if isinstance(policy, Rescue) else ()


def with_rescue_column(ddl: str, policy: NewFieldsPolicy) -> str:
    """A schema with that column at its end."""
    return ", ".join((ddl, *(f"`{name}` string" for name in rescue_column(policy))))


def misplaced_policy(policy: NewFieldsPolicy, ddl: str, format: str) -> str | None:
    """The sentence on a choice that a format or schema does not have; None where it has it.

    Args:
        ddl: The schema.
        format: That of its files or values.
    """
    if policy == "ignore":
        return None
    if format != "json":
        return (
            f"it is for json; of {format} Spark gives the columns of the schema alone, and for "
            "files other_schema: hold stops at one with another column"
        )
    named = {name.lower() for name in column_names(ddl)}
    taken = [one for one in rescue_column(policy) if one.lower() in named or is_engine_column(one)]
    return f"'{taken[0]}' is a column already; choose another name" if taken else None


def without_default(reading: dict[str, Any]) -> dict[str, Any]:
    """How a source is read, as it was said before there was a choice where it is as it was then."""
    return {name: v for name, v in reading.items() if (name, v) != (_FIELD, "ignore")}


def policy_of(reading: Mapping[str, Any]) -> NewFieldsPolicy:
    """The choice as `without_default` left it."""
    return TypeAdapter[NewFieldsPolicy](NewFieldsPolicy).validate_python(
        reading.get(_FIELD, "ignore")
    )
