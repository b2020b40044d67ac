"""Misspelt columns in Spark SQL expressions, found without Spark.

Only Spark can say for certain what an expression names; before it starts, a word that is nearly a
column's name and no column's name is worth a question.
"""

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches

from tidemill.contract.syntax.sql_text import tokens

_ALMOST = 0.8
# Words of the language that stand where a column could; functions are told by their bracket.
_LANGUAGE = frozenset(
    re.findall(
        r"\w+",
        """
        all and any array as asc between bigint binary boolean both by byte case cast char
        current_date current_timestamp date day days decimal desc distinct div double else
        end escape exists false float for from hour hours in int integer interval is leading
        like ilike long map microsecond minute minutes month months not null or overlay
        placing quarter regexp rlike second seconds short similar smallint some string
        struct substring then timestamp timestamp_ltz timestamp_ntz tinyint to trailing true
        void week weeks when year years
        """,
    )
)
# Further words that stand there in rarer expressions, some of them in brackets.
_RARE = frozenset(
    re.findall(
        r"\w+",
        """
        by collate current current_catalog current_database current_role current_schema
        current_user dayofweek dayofweek_iso default dow doy epoch escape except filter first
        following geography geometry ignore isodow isoyear last localtimestamp millisecond
        nanosecond nulls order over partition preceding range respect row rows select session_user
        some time unbounded unknown user variant varchar where with within yearofweek
        """,
    )
)


def misspelt_columns(expression: str, columns: Collection[str]) -> list[tuple[str, str]]:
    """Words that are not a column's name, but nearly one.

    Args:
        expression: Spark SQL, such as `to_date(InvoiceDate)`.
        columns: That it may name; as in Spark, letter case does not matter.

    Returns:
        Pairs of the word and the column that was probably meant.
    """
    known = {column.lower(): column for column in columns}
    found = []
    for word in _names(expression):
        near = get_close_matches(word.lower(), known, n=1, cutoff=_ALMOST)
        if word.lower() not in known and near:
            found.append((word, known[near[0]]))
    return list(dict.fromkeys(found))


def unknown_columns(expression: str, columns: Collection[str]) -> list[str]:
    """Words that name neither a column nor, as far as can be told without Spark, anything else.

    Args:
        expression: Spark SQL over these columns; one with a lambda has names of its own.
    """
    if "->" in expression:
        return []
    known = {column.lower() for column in columns} | _RARE
    unknown = (word for word in _names(expression) if word.lower() not in known)
    return list(dict.fromkeys(word for word in unknown if not word.startswith("_")))


def _names(expression: str) -> Iterator[str]:
    parts = [*tokens(expression)]
    texts = ["", *(part.text for part in parts), ""]
    for part, before, after in zip(parts, texts, texts[2:], strict=False):
        word = part.name
        if not word or word.lower() in _LANGUAGE:
            continue
        # A function, a typed literal, a field of a struct, an alias.
        if after[:1] in ("(", "'", '"') or before == "." or before.lower() == "as":
            continue
        yield word
