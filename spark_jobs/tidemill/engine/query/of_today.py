"""Expressions that read a text as a time of the day on which they run.

To Spark "12:30" as a timestamp is half past twelve of today, and "yesterday" is a date. The text of
a constant is there to see; that of a column is not, and only a format of one's own or
`timestamp_ntz` makes such a text an error.
"""

from typing import Any

from tidemill.contract.syntax.unrepeatable_sql import is_of_today, unrepeatable_in_sql
from tidemill.engine.spark_internals.plan import items, kind

GIVE_FORMAT = "Give the format, as in to_timestamp(text, 'yyyy-MM-dd HH:mm:ss')."
_CASTS = ("Cast", "ParseToTimestamp", "ParseToDate")
_PARSERS = ("JsonToStructs", "CsvToStructs")
_TIMES = ("date", "timestamp", "timestamp_ntz")


def read_as_of_today(expression: Any) -> str | None:
    """What an expression of an analysed plan does, if it may take the date of the run; or None.

    Args:
        expression: Its children are not looked into.
    """
    name = kind(expression)
    if name in _CASTS:
        children = items(expression.children())
        if len(children) == 1 and _may_be_of_today(children[0], _type(expression)):
            return f"a text as {_type(expression)} without a format"
    elif name in _PARSERS:
        options = str(expression.options()).lower()
        if _has_instant(_type(expression)) and "timestampformat" not in options:
            return "a text with a timestamp in it, without the option timestampFormat"
    elif name == "Literal" and _type(expression) in _TIMES:
        # Spark has put the date in already; the text that it came from is still known.
        context = expression.origin().context()
        used = [] if context is None else unrepeatable_in_sql(str(context.fragment()))
        return used[0] if used else None
    return None


def _may_be_of_today(text: Any, wanted: str) -> bool:
    if "string" not in _type(text):
        return False
    if text.foldable():
        return wanted in _TIMES and is_of_today(str(text.eval(None)))
    return _has_instant(wanted)


def _has_instant(wanted: str) -> bool:
    return "timestamp" in wanted.replace("timestamp_ntz", "")


def _type(expression: Any) -> str:
    return str(expression.dataType().catalogString())
