"""Finds the end of the first value of a JSON text, in constant memory.

It is scanned and not parsed: of a value that is malformed or has no end Spark says so by itself.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

CHUNK_BYTES = 2**16
_SPACE = b" \t\r\n"
_SCALAR = re.compile(rb"-?\d[\d.eE+-]*|true|false|null")
# Spark refuses a number of more than 1,000 digits.
_LONGEST_SCALAR = 4096
_MARK = re.compile(rb'["{}\[\]]')
_STEP = {ord(bracket): step for bracket, step in ((b"{", 1), (b"[", 1), (b"}", -1), (b"]", -1))}
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in _STEP)


def is_followed_by_more(text: Iterable[bytes]) -> bool:
    """Whether anything but white space follows the first value.

    Args:
        text: In UTF-8, in pieces that are cut anywhere, about `CHUNK_BYTES` long.
    """
    chunks = _without_leading_space(_escapes_replaced(text))
    first = b""
    while len(first) < _LONGEST_SCALAR and (chunk := next(chunks, b"")):
        first += chunk
    scalar = _SCALAR.match(first)
    if scalar:
        return bool(first[scalar.end() :].strip(_SPACE)) or any(c.strip(_SPACE) for c in chunks)
    if first[:1] not in (b"{", b"[", b'"'):
        return False
    value = _Value()
    end = value.end(first)
    while end is None and (first := next(chunks, b"")):
        end = value.end(first)
    if end is None:
        return False
    return bool(first[end:].strip(_SPACE)) or any(chunk.strip(_SPACE) for chunk in chunks)


class _Value:
    """A value that was begun: how many brackets are open, and whether it is within a string."""

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = False

    def end(self, chunk: bytes) -> int | None:
        """The position behind the value; None if it goes on in the next chunk."""
        within_one_string = self.in_string and b'"' not in chunk
        if within_one_string or (self.depth and self._goes_on(chunk)):
            return None
        for found in _MARK.finditer(chunk):
            if found[0] == b'"':
                self.in_string = not self.in_string
            elif not self.in_string:
                self.depth += _STEP[found[0][0]]
            if self.depth <= 0 and not self.in_string:
                return found.end()
        return None

    def _goes_on(self, chunk: bytes) -> bool:
        """Whether the value cannot end in a chunk, which then is passed; many times as fast."""
        parts = chunk.split(b'"')
        brackets = b"".join(parts[self.in_string :: 2]).translate(None, _NO_BRACKET)
        depths = list(accumulate(map(_STEP.__getitem__, brackets), initial=self.depth))
        if min(depths) <= 0:
            return False
        self.depth = depths[-1]
        self.in_string ^= len(parts) % 2 == 0
        return True


def _escapes_replaced(text: Iterable[bytes]) -> Iterator[bytes]:
    """The same lengths without escaped quotes, so that every quote begins or ends a string."""
    held = b""
    for piece in text:
        chunk = held + piece
        backslashes = len(chunk) - len(chunk.rstrip(b"\\"))
        held = chunk[len(chunk) - backslashes % 2 :]
        yield chunk[: len(chunk) - len(held)].replace(rb"\\", b"__").replace(rb"\"", b"__")
    yield held


def _without_leading_space(chunks: Iterable[bytes]) -> Iterator[bytes]:
    begun = False
    for chunk in chunks:
        found = chunk if begun else chunk.lstrip(_SPACE)
        begun = begun or bool(found)
        if found:
            yield found
