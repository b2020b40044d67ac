"""The kit finds each way of breaking the contract, and none where it is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.data_sources import doubles
from tests.data_sources.doubles import source_of
from tidemill.data_sources import kit
from tidemill.data_sources.kit import CHECKS, ContractBroken
from tidemill.data_sources.subject import Subject

Check = Callable[[Subject], None]


def subject_of(home: Path, reader: type[Any]) -> Subject:
    path = home / "lines.txt"
    path.write_text("".join(f"line {number}\n" for number in range(5)))

    def grow() -> None:
        with path.open("a") as lines:
            lines.write("more\nand more\n")

    return Subject(source_of(reader), {"path": str(path)}, "n long, line string", grow)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("reader", [doubles.Lines, doubles.SimpleLines])
def test_a_source_that_keeps_the_contract_passes(
    tmp_path: Path, reader: type[Any], check: Check
) -> None:
    check(subject_of(tmp_path, reader))


BROKEN: list[tuple[type[Any], Check]] = [
    (doubles.SetOffsets, kit.offsets_are_json),
    (doubles.Untyped, kit.rows_fit_the_schema),
    (doubles.Newest, kit.same_offsets_give_the_same_rows),
    (doubles.Backwards, kit.offsets_only_grow),
    (doubles.Remembering, kit.restarts_from_any_offset),
    (doubles.Overlapping, kit.partitions_cover_a_range_once),
    (doubles.Purging, kit.commit_is_idempotent),
    (doubles.Endless, kit.one_run_takes_all_there_is),
    (doubles.Paged, kit.one_run_takes_all_there_is),
    (doubles.Generating, kit.a_simple_reader_gives_what_it_gives_again),
    (doubles.Forgetful, kit.a_simple_reader_gives_what_it_gives_again),
]


@pytest.mark.parametrize(("reader", "check"), BROKEN)
def test_each_check_finds_the_source_that_breaks_it(
    tmp_path: Path, reader: type[Any], check: Check
) -> None:
    with pytest.raises(ContractBroken):
        check(subject_of(tmp_path, reader))


def test_every_check_can_fail() -> None:
    assert {check for _, check in BROKEN} == set(CHECKS)


def test_a_source_without_rows_proves_nothing(tmp_path: Path) -> None:
    subject = subject_of(tmp_path, doubles.Lines)
    Path(subject.options["path"]).write_text("")
    with pytest.raises(ContractBroken):
        kit.rows_fit_the_schema(subject)
