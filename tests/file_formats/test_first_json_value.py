"""Whether more than one JSON value is in a text, whatever its size and wherever it is cut."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidemill.file_formats.first_json_value import CHUNK_BYTES, is_followed_by_more

TEXT = st.text(st.sampled_from('a"\\{}[]:,\n é'), max_size=8)
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(), st.just(-1.5e-9), TEXT)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
SPACE = st.text(st.sampled_from(" \t\r\n"), max_size=3)


def pieces(text: str, size: int) -> Iterator[bytes]:
    content = text.encode()
    return (content[at : at + size] for at in range(0, len(content), size))


@settings(max_examples=100)
@given(VALUE, VALUE, SPACE, SPACE, st.integers(1, 9), st.booleans())
def test_a_second_value_is_found_wherever_the_text_is_cut(
    one: Any, other: Any, before: str, after: str, size: int, ascii_only: bool
) -> None:
    first = before + json.dumps(one, ensure_ascii=ascii_only) + after
    assert not is_followed_by_more(pieces(first, size))
    assert is_followed_by_more(pieces(f"{first} {json.dumps(other)}", size))


@pytest.mark.parametrize(
    "text", ["", "  \n", "hello world", "{", '["a', '{"a": [1, 2}', '"a', "\\"]
)
def test_a_value_that_is_none_or_has_no_end_is_left_to_spark(text: str) -> None:
    assert not is_followed_by_more(pieces(text, 3))


def large(inner: bytes, megabytes: int = 8) -> Iterator[bytes]:
    chunk = (inner * (CHUNK_BYTES // len(inner) + 1))[:CHUNK_BYTES]
    return repeat(chunk, megabytes * 2**20 // CHUNK_BYTES)


@pytest.mark.parametrize(
    ("begin", "inner", "end"),
    [
        (b"[", b'{"id": 1, "tags": ["a", "b"], "n": {"x": "}"}},', b"{}]"),
        (b'["', b"a line without an end ", b'"]'),
        (b'"', b"[[[[", b'"'),
        (b'{"a": "', b"\\\\", b'"}'),
        (b"", b" ", b"1"),
    ],
    ids=["objects", "one long string", "a string alone", "escapes", "white space"],
)
def test_memory_does_not_grow_with_the_text(begin: bytes, inner: bytes, end: bytes) -> None:
    whole_objects = (inner,) * 1000 if inner.startswith(b"{") else ()
    middle = repeat(b"".join(whole_objects), 160) if whole_objects else large(inner)
    tracemalloc.start()
    more = is_followed_by_more(chain([begin], middle, [end, b" \n {}"]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert more
    assert peak < 6 * 2**20


def test_depth_costs_nothing() -> None:
    levels = 2_000_000
    text = chain(large(b"[", levels // 2**20), large(b"]", levels // 2**20), [b" 1"])
    tracemalloc.start()
    assert is_followed_by_more(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * 2**20
