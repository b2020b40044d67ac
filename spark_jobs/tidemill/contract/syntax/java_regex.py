"""Java's regular expressions translated to Python's, where both mean the same.

A small common language is understood; everything else is left to Spark. In it only three things
differ: `\\d`, `\\w` and `\\s` are ASCII in Java, and `.` and `$` know more line terminators.
See java.util.regex.Pattern and Python's `re`.
"""

import re

_TERMINATORS = r"\n\r\u0085\u2028\u2029"
_ANY = f"[^{_TERMINATORS}]"
# Java's `$` also stands before a line terminator that ends the text; `\r\n` is one.
_END = r"(?=(?:\r\n|(?<!\r)\n|[\r\u0085\u2028\u2029])?\Z)"
# Classes and escaped punctuation that mean the same to both; Java's \b, \Z, \h, \R, \p do not.
_ESCAPES = re.compile(r"\\[dDwWsStnrf.^$*+?()\[\]{}|\\/\-@#%&:,;=!<>'\" ~`_]")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})(\?|\+)?")
_GROUP = re.compile(r"\((?:\?(?::|=|!|<=|<!))?")


def as_python(pattern: str) -> str | None:
    """The pattern for Python's `re`, or None where it may mean another thing to Java."""
    said = ["(?a)"]
    at = 0
    while at < len(pattern):
        step = _step(pattern, at)
        if step is None:
            return None
        piece, at = step
        said.append(piece)
    result = "".join(said)
    try:
        re.compile(result)
    except re.error:
        return None
    return result


def _step(pattern: str, at: int) -> tuple[str, int] | None:
    """The next piece, said in Python, and where the one after it begins."""
    character = pattern[at]
    if character == "\\":
        return _matched(_ESCAPES, pattern, at)
    if character == "[":
        return _class(pattern, at)
    if character == "(":
        group = _GROUP.match(pattern, at)
        # What begins with `(?` and is not one of these is a flag, a name or atomic.
        if group is None or (group[0] == "(" and pattern.startswith("(?", at)):
            return None
        return group[0], group.end()
    if character in "*+?{":
        quantifier = _QUANTIFIER.match(pattern, at)
        possessive = quantifier is not None and quantifier[1] == "+"
        return None if quantifier is None or possessive else (quantifier[0], quantifier.end())
    if character in "]}":
        return None
    return {".": _ANY, "$": _END}.get(character, character), at + 1


def _class(pattern: str, at: int) -> tuple[str, int] | None:
    """A character class without Java's unions and intersections."""
    start = at
    at += 1
    if pattern.startswith("^", at):
        at += 1
    first = at
    while at < len(pattern):
        if pattern[at] == "]" and at > first:
            return pattern[start : at + 1], at + 1
        if pattern[at] in "[]" or pattern.startswith(("&&", "--", "||", "~~"), at):
            return None
        if pattern[at] == "\\":
            escape = _matched(_ESCAPES, pattern, at)
            if escape is None:
                return None
            at = escape[1]
        else:
            at += 1
    return None


def _matched(what: re.Pattern[str], pattern: str, at: int) -> tuple[str, int] | None:
    match = what.match(pattern, at)
    return (match[0], match.end()) if match else None
