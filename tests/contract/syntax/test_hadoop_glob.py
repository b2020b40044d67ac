"""Hadoop's globs in Python's words; what each matches was looked up with Spark 4.2."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.contract.syntax.hadoop_glob import exactly, python_globs


def matched(pattern: str, *names: str) -> list[str]:
    return [n for n in names if any(fnmatchcase(n, one) for one in python_globs(pattern))]


@pytest.mark.parametrize(
    ("pattern", "globs"),
    [
        ("*.csv", ("*.csv",)),
        ("*.{csv,txt}", ("*.csv", "*.txt")),
        ("{a*,{bb,c}?}.x", ("a*.x", "bb?.x", "c?.x")),
        ("{a,b}{1,2}", ("a1", "a2", "b1", "b2")),
        ("a{,b}", ("a", "ab")),
        ("a,b.csv", ("a,b.csv",)),
        (r"a\{1\}", ("a{1}",)),
        (r"a\*\?\[", ("a[*][?][[]",)),
        ("[^a]", ("[!a]",)),
        ("{a,a}", ("a",)),
        ("", ("",)),
    ],
)
def test_alternatives_negations_and_escapes(pattern: str, globs: tuple[str, ...]) -> None:
    assert python_globs(pattern) == globs


@pytest.mark.parametrize(
    ("pattern", "names", "expected"),
    [
        ("*.{csv,txt}", ["a.csv", "b.txt", "c.json"], ["a.csv", "b.txt"]),
        ("[^a].csv", ["a.csv", "b.csv", "^.csv", "!.csv"], ["b.csv", "^.csv", "!.csv"]),
        ("[!a].csv", ["a.csv", "b.csv", "^.csv", "!.csv"], ["b.csv", "^.csv", "!.csv"]),
        (r"a\{1\}.csv", ["a{1}.csv", "a1.csv"], ["a{1}.csv"]),
        ("{a,b}[0-9].csv", ["a1.csv", "b2.csv", "c3.csv", "a.b"], ["a1.csv", "b2.csv"]),
        ("?.csv", ["é.csv", "a b.csv", "#.csv"], ["é.csv", "#.csv"]),
        ("*.csv", ["a.csv.gz", "a.csv", "A.CSV"], ["a.csv"]),
    ],
)
def test_names_are_matched_as_spark_matches_them(
    pattern: str, names: list[str], expected: list[str]
) -> None:
    assert matched(pattern, *names) == expected


@pytest.mark.parametrize("name", ["a[1].csv", "a{1,2}", "a?b", "a*b", "a\\b", "a]", "plain.csv"])
def test_a_path_is_matched_exactly(name: str) -> None:
    assert matched(exactly(name), name, "a1.csv", "a1", "axb", "ab") == [name]


@pytest.mark.parametrize("pattern", ["{a", "a}", "[a", "a\\", "{a,{b}", "[a\\"])
def test_what_spark_cannot_read_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"brace|bracket"):
        python_globs(pattern)


@pytest.mark.parametrize("option", ["pathGlobFilter", "PATHGLOBFILTER"])
def test_a_spec_with_a_broken_filter_is_refused(option: str) -> None:
    text = {"    format: csv": f"    format: csv\n    options: {{{option}: '{{a'}}"}
    with pytest.raises(SpecError) as error:
        parse(minimal(replace=text))
    assert error.value.field == "sources.orders.options"


def test_a_spec_with_a_broken_glob_for_a_path_is_refused() -> None:
    with pytest.raises(SpecError) as error:
        parse(minimal(replace={"/in/orders": "'/in/{a'"}))
    assert error.value.field == "sources.orders.path"
