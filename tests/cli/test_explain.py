"""`tidemill explain` says of every error's code what it means and what to do."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tidemill
from tests.support.shown_errors import rows
from tidemill.contract.errors import ExitCode


def test_every_row_of_the_page_is_explained(tidemill: Tidemill) -> None:
    found = {one["code"]: one for one in tidemill("explain", "--json").json["errors"]}

    assert [*found] == [name for name, *_ in rows()]
    for name, place, means, remedy, _ in rows():
        one = found[name]
        assert one["read_at"] == place
        assert f"**{one['kind']}**" in remedy
        if "](" not in means + remedy:
            assert one["means"] == means
            assert remedy == f"**{one['kind']}**: {one['remedy']}"


@pytest.mark.parametrize("typed", ["DiskFull", "diskfull", "[DiskFull]"])
def test_a_code_is_explained_however_it_is_typed(tidemill: Tidemill, typed: str) -> None:
    (found,) = tidemill("explain", typed, "--json").json["errors"]

    assert (found["code"], found["kind"]) == ("DiskFull", "wait")


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [("DiskFul", "DiskFull"), ("checkpointlst", "CheckpointLost"), ("Overdue", "FeedOverdue")],
)
def test_a_code_that_is_almost_right_is_suggested(
    tidemill: Tidemill, typed: str, nearest: str
) -> None:
    answer = tidemill("explain", typed, "--json")

    assert answer.exit_code == ExitCode.USAGE
    assert nearest in answer.json["data"]["nearest"]


def test_a_word_like_no_code_leads_to_the_list(tidemill: Tidemill) -> None:
    answer = tidemill("explain", "zzzz", "--json")

    assert answer.json["data"]["nearest"] == []
    assert "tidemill explain" in answer.json["remedy"]


def test_a_link_of_the_page_is_a_path_at_a_shell(tidemill: Tidemill) -> None:
    answer = tidemill("explain", "ColumnUnfit")

    assert "(docs/reference/column-types.md)" in answer.stdout
    assert "](" not in answer.stdout
