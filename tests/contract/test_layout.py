"""Paths under the root: whatever a name or a run id holds, it stays where it belongs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.contract.errors import UsageError
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.spec.root import root

ROOT = Path("/srv/tidemill")
LAYOUT = Layout(ROOT, "orders")


def test_sink_directories_lie_in_the_table_and_begin_with_an_underscore() -> None:
    sink = LAYOUT.sink(FIRST_GENERATION)
    assert sink.parent == LAYOUT.table
    assert sink.name.startswith("_")


def test_the_rejected_table_is_not_inside_the_good_one() -> None:
    assert LAYOUT.table not in LAYOUT.rejected.parents


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "/etc", "Orders", "1a", "_a", "a-b", "a\n", "a\0", "é"]
)
def test_a_pipeline_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as error:
        Layout(ROOT, name)
    assert error.value.name == name


@pytest.mark.parametrize(
    ("run_id", "folder"),
    [
        ("scheduled__2024-01-01T00:00:00+00:00", "scheduled__2024-01-01T00:00:00+00:00"),
        ("a/b", "a%2Fb"),
        ("../../etc/passwd", "..%2F..%2Fetc%2Fpasswd"),
        ("a%2Fb", "a%252Fb"),
        ("...", "..."),
        ("nul\0", "nul%00"),
        ("new\nline", "new%0Aline"),
        ("é b", "%C3%A9%20b"),
        ("back\\slash", "back%5Cslash"),
    ],
)
def test_a_run_has_one_folder_of_its_own(run_id: str, folder: str) -> None:
    assert LAYOUT.run(run_id) == LAYOUT.runs / folder


@pytest.mark.parametrize("run_id", ["", ".", ".."])
def test_what_names_no_folder_is_no_run_id(run_id: str) -> None:
    with pytest.raises(UsageError) as error:
        LAYOUT.run(run_id)
    assert error.value.run_id == run_id


@pytest.mark.parametrize("run_id", ["r" * 251, "é" * 200])
def test_a_run_id_that_no_file_system_can_hold_is_refused(run_id: str) -> None:
    with pytest.raises(UsageError) as error:
        LAYOUT.run(run_id)
    assert error.value.run_id == run_id


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_two_runs_never_share_a_folder(one: str, other: str) -> None:
    folders = []
    for run_id in (one, other):
        try:
            folders.append(LAYOUT.run(run_id))
        except UsageError:
            return
    assert all(folder.parent == LAYOUT.runs for folder in folders)
    assert (folders[0] == folders[1]) == (one == other)


@pytest.mark.parametrize(
    "given_root", ["", "relative", "./x", "~", "gs://b/x", "hdfs://b/x", "s3a://", "file:///srv"]
)
def test_a_root_that_is_neither_an_absolute_path_nor_a_bucket_is_refused(given_root: str) -> None:
    with pytest.raises(UsageError) as error:
        root({"TIDEMILL_ROOT": given_root})
    assert error.value.root == given_root


@pytest.mark.parametrize("given_root", ["/srv/../etc", "/srv/tidemill/..", "//srv/tidemill"])
def test_a_root_that_spark_would_write_down_in_other_words_is_refused(given_root: str) -> None:
    # The logs hold absolute paths, cleaned up; ours are compared with them word by word.
    with pytest.raises(UsageError) as error:
        root({"TIDEMILL_ROOT": given_root})
    assert error.value.root == given_root


def test_an_unset_root_is_refused() -> None:
    with pytest.raises(UsageError):
        root({})


@pytest.mark.parametrize("given_root", ["/srv/tidemill", "/srv/tidemill/", "/srv/./tidemill"])
def test_a_root_is_an_absolute_path(given_root: str) -> None:
    assert root({"TIDEMILL_ROOT": given_root}) == ROOT
