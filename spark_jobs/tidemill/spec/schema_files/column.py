"""A column as a schema file describes it."""

from collections.abc import Iterable
from dataclasses import dataclass

from tidemill.spec.column_types import quoted, quoted_text


class UnknownType(Exception):
    """A type of a schema file that Spark has no column for.

    Args:
        name: The column or field.
        what: What is wrong with it, as the end of a sentence.
    """

    def __init__(self, name: str, what: str) -> None:
        super().__init__(what)
        self.name = name
        self.what = what


@dataclass(frozen=True)
class FileColumn:
    """A column of a schema file.

    Args:
        type: As Spark DDL.
        description: For readers of the table; empty where the file has none.
    """

    name: str
    type: str
    description: str = ""

    @property
    def ddl(self) -> str:
        if not self.description:
            return f"{quoted(self.name)} {self.type}"
        text = quoted_text(" ".join(self.description.split()))
        return f"{quoted(self.name)} {self.type} COMMENT {text}"


def struct(fields: Iterable[tuple[str, str]]) -> str:
    """A struct as DDL.

    Args:
        fields: Name and type of each.
    """
    return f"struct<{', '.join(f'{quoted(name)}: {kind}' for name, kind in fields)}>"
