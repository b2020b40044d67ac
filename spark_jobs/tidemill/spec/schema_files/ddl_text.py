"""The columns in a text of Spark SQL: a schema alone, or a CREATE TABLE."""

import re

_PARTS = re.compile(
    r"""(?P<kept>`[^`]*` | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<comment>--[^\n]* | /\*.*?\*/)
    | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_TABLE = re.compile(r"\s*create\s[^(]*\(", re.IGNORECASE)


def columns_text(text: str) -> str:
    """The columns, on the lines that they are on in the file, without comments.

    Raises:
        ValueError: a bracket of a CREATE TABLE is not closed.
    """
    plain = "".join(
        re.sub(r"[^\n]", " ", found[0]) if found["comment"] else found[0]
        for found in _PARTS.finditer(text)
    )
    table = _TABLE.match(plain)
    if table is None:
        return plain.rstrip().removesuffix(";")
    # Blanks in place of what comes before, so that a column's line is the file's.
    head = re.sub(r"[^\n]", " ", table[0])
    depth = 1
    for found in _PARTS.finditer(plain, table.end()):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return head + plain[table.end() : found.start()]
    msg = "the bracket of the table is not closed"
    raise ValueError(msg)


def on_one_line(ddl: str) -> str:
    """A column with single blanks, as it is compared; what is in quotes stays as it is."""
    parts = (
        found[0] if found["kept"] else re.sub(r"\s", " ", found[0])
        for found in _PARTS.finditer(ddl)
    )
    return re.sub(r" {2,}(?=(?:[^'`\"]|'[^']*'|`[^`]*`|\"[^\"]*\")*$)", " ", "".join(parts)).strip()
