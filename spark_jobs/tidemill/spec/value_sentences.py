"""The sentences about a value that a spec cannot have: what is wrong with it, what to write."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails


class Sentence(NamedTuple):
    """A mistake in words.

    Attributes:
        what: The rest of a sentence that begins with the field.
        remedy: What to write instead.
    """

    what: str
    remedy: str


class Kind(NamedTuple):
    """What a value has to be.

    Attributes:
        noun: Such as `a whole number`.
        example: How to write one in YAML.
    """

    noun: str
    example: str


_TEXT = Kind("a text", "Put it in quotes")
_WHOLE = Kind("a whole number", "Write it in digits, such as 5")
_NUMBER = Kind("a number", "Write it in digits, such as 0.5")
_TRUTH = Kind("true or false", "Write true or false")
_LIST = Kind("a list", "Write it in brackets, such as [a, b]")
_MAPPING = Kind("a mapping", "Write its keys below it, one on each line")
_DATE = Kind("a date", "Write it as year, month and day, such as 2026-03-01")
_TIME = Kind("a time", "Write it with its zone, such as 2026-03-01T00:00:00+00:00")
# Pydantic's type of an error, up to its last word -> what it expects.
_KINDS = {
    "string": _TEXT,
    "int": _WHOLE,
    "float": _NUMBER,
    "bool": _TRUTH,
    "tuple": _LIST,
    "list": _LIST,
    "frozen_set": _LIST,
    "set": _LIST,
    "dict": _MAPPING,
    "model": _MAPPING,
    "model_attributes": _MAPPING,
    "date": _DATE,
    "date_from_datetime": _DATE,
    "datetime": _TIME,
    "datetime_from_date": _TIME,
}
_WRONG_KIND = re.compile(r"(?P<kind>\w+?)_(?:type|parsing|inexact|parsing_size|from_float)")
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
# A pattern of the models -> what it permits.
_PATTERNS = {
    r"^[a-z][a-z0-9_]*$": "a lower-case letter, then lower-case letters, digits and underscores",
    r"^[A-Z][A-Z0-9_]*$": "an upper-case letter, then upper-case letters, digits and underscores",
    r"^[A-Za-z][A-Za-z0-9_]*$": "a letter, then letters, digits and underscores",
}
# The verbs with which our own messages begin to say what to do.
_ADVICE = re.compile(
    r"(?:^|; )(?=(?:add|bound|cast|call|choose|compute|declare|did you mean|give|leave|make|name"
    r"|publish|put|read|remove|rename|use|write)\b)"
)


def expected_kind(complaint: ErrorDetails) -> Kind | None:
    """What a value has to be, where it is of a wrong kind; None where that is not the mistake."""
    found = _WRONG_KIND.fullmatch(complaint["type"])
    return _KINDS.get(found["kind"]) if found else None


def of_another_kind(value: Any, kinds: Sequence[Kind]) -> Sentence:
    """The sentence about a value that is of none of the kinds that its field can have."""
    nouns = [kind.noun for kind in dict.fromkeys(kinds)]
    expected = " or ".join((", ".join(nouns[:-1]), nouns[-1])) if len(nouns) > 1 else nouns[0]
    return Sentence(f"is {shown(value)}, and has to be {expected}", f"{kinds[0].example}.")


def sentence(complaint: ErrorDetails) -> Sentence:
    """The sentence about a value that is refused for another reason than its kind."""
    kind, value = complaint["type"], complaint["input"]
    context: Mapping[str, Any] = complaint.get("ctx", {})
    if kind in ("literal_error", "enum"):
        return not_one_of(value, re.findall(r"'([^']*)'", str(context["expected"])))
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        bound = context[key]
        what = f"is {shown(value)}, and has to be {words} {bound}"
        return Sentence(what, f"Write a number that is {words} {bound}.")
    if kind == "string_pattern_mismatch":
        permitted = _PATTERNS.get(context["pattern"], f"what {context['pattern']} matches")
        return Sentence(f"is {shown(value)}, which it cannot be", f"Write {permitted}.")
    if kind in ("string_too_short", "too_short"):
        return Sentence("is empty", "Write a value, or remove the key.")
    if kind in ("string_too_long", "too_long"):
        unit = "characters" if kind == "string_too_long" else "parts"
        most = f"{context['max_length']} {unit}"
        return Sentence(f"has more than {most}", f"Write at most {most}.")
    if kind == "value_error":
        return own_words(str(context["error"]), value)
    return Sentence(f"cannot be {shown(value)}", "Change the value.")


def not_one_of(value: Any, known: Sequence[str]) -> Sentence:
    """The sentence about a value other than the words that a field knows."""
    near = get_close_matches(str(value).lower(), known, n=1)
    remedy = f"Did you mean '{near[0]}'?" if near else f"Use one of: {', '.join(known)}."
    return Sentence(f"is {shown(value)}, which it cannot be", remedy)


def own_words(message: str, value: Any) -> Sentence:
    """A message of the models, which says what is wrong, then often what to do."""
    advice = list(_ADVICE.finditer(message))
    if not advice:
        return Sentence(f"is refused: {message}", "Change the value.")
    what, remedy = message[: advice[-1].start()], message[advice[-1].end() :]
    refused = f"is refused: {what}" if what else f"is {shown(value)}, which it cannot be"
    if not what and isinstance(value, Mapping):
        refused = "lacks what it needs"
    end = "" if remedy.endswith((".", "?")) else "."
    return Sentence(refused, f"{remedy[0].upper()}{remedy[1:]}{end}")


def shown(value: Any) -> str:
    """A value as people see it in YAML."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set):
        return "a list"
    return f"'{value}'" if isinstance(value, str) else str(value)
