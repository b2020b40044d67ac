"""Which files Spark would list; each case was tried with Spark 4.2."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.file_modes import modes_count
from tidemill.sources.files.listing import InputMissing, list_source
from tidemill.sources.files.source_tree import InputCircular, InputUnreadable
from tidemill.spec.sources.file import FileSource


@pytest.fixture
def lists(tmp_path: Path) -> Callable[..., tuple[list[str], list[str]]]:
    """What is read and what is overlooked of some files, by a glob below their directory."""

    def listed(files: list[str], glob: str = "", **options: str) -> tuple[list[str], list[str]]:
        for name in files:
            path = tmp_path / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        found = list_source(source(f"{tmp_path / 'in'}{glob}", **options))

        def names(paths: list[Path]) -> list[str]:
            return [str(path.relative_to(tmp_path / "in")) for path in paths]

        return names([f.path for f in found.files]), names([f.path for f in found.overlooked])

    return listed


def source(path: str, **options: str) -> FileSource:
    return FileSource.model_validate(
        {"format": "csv", "path": path, "schema": "id int", "options": options}
    )


Lists = Callable[..., tuple[list[str], list[str]]]


@pytest.mark.parametrize(
    ("files", "read", "overlooked"),
    [
        (["a.csv", "sub/b.csv", "sub/deep/c.csv"], ["a.csv"], ["sub/b.csv", "sub/deep/c.csv"]),
        (["sub/b.csv"], [], ["sub/b.csv"]),
        (["k=1/b.csv", "k=2/c.csv"], ["k=1/b.csv", "k=2/c.csv"], []),
        (["a.csv", "k=1/b.csv"], ["k=1/b.csv"], ["a.csv"]),
        (["sub/k=1/b.csv"], ["sub/k=1/b.csv"], []),
        (["k=1/sub/b.csv"], ["k=1/sub/b.csv"], []),
        (["a.csv", ".k=1/x.csv"], ["a.csv"], []),
        (["k=1/a.csv", "k=1/.h/x.csv", "k=1/_g/y.csv"], ["k=1/a.csv"], []),
        (["a.csv", "_h.csv", ".x.csv", "a._COPYING_", "_k=v.csv"], ["_k=v.csv", "a.csv"], []),
    ],
)
def test_without_recursion(
    lists: Lists, files: list[str], read: list[str], overlooked: list[str]
) -> None:
    assert lists(files) == (read, overlooked)


@pytest.mark.parametrize("option", ["recursiveFileLookup", "recursivefilelookup"])
def test_with_recursion_everything_visible_is_read(lists: Lists, option: str) -> None:
    files = ["a.csv", "d/z.csv", "d/.y.csv", "_d/x.csv", "k=1/e.csv"]
    assert lists(files, **{option: "TRUE"}) == (["a.csv", "d/z.csv", "k=1/e.csv"], [])


@pytest.mark.parametrize("option", ["pathGlobFilter", "pathglobfilter"])
def test_a_filter_holds_whatever_its_case(lists: Lists, option: str) -> None:
    assert lists(["A.CSV", "a.csv", "a.txt"], **{option: "*.csv"}) == (["a.csv"], [])


def test_a_filter_with_alternatives(lists: Lists) -> None:
    assert lists(["a.csv", "b.txt", "c.json"], pathGlobFilter="*.{csv,txt}")[0] == [
        "a.csv",
        "b.txt",
    ]


def test_what_the_filter_leaves_out_is_not_overlooked(lists: Lists) -> None:
    assert lists(["a.csv", "sub/b.txt"], pathGlobFilter="*.csv") == (["a.csv"], [])


@pytest.mark.parametrize(
    ("glob", "files", "read"),
    [
        ("/*", ["x/a.csv", "y/sub/b.csv", "z.csv", "_h.csv", ".h.csv"], ["x/a.csv", "z.csv"]),
        ("/*", ["x/a.csv", "_z/c.csv"], ["_z/c.csv", "x/a.csv"]),
        ("/x[12]", ["x1/a.csv", "x2/b.csv", "y/c.csv"], ["x1/a.csv", "x2/b.csv"]),
        ("/{x,y}", ["x/a.csv", "y/b.csv", "z/c.csv"], ["x/a.csv", "y/b.csv"]),
        ("/{x,y}/*.csv", ["x/a.csv", "y/b.csv", "y/b.txt"], ["x/a.csv", "y/b.csv"]),
        ("/*.csv", ["a.csv", "b.txt"], ["a.csv"]),
        ("/x?", ["x1/a.csv", "x12/b.csv"], ["x1/a.csv"]),
    ],
)
def test_a_glob(lists: Lists, glob: str, files: list[str], read: list[str]) -> None:
    assert lists(files, glob)[0] == read


def test_what_is_hidden_and_holds_something_is_passed_over(tmp_path: Path) -> None:
    hidden = ["_x.csv", ".x.csv", "k=1/_y.csv"]
    left_by_programs = ["_SUCCESS", ".a.csv.crc", ".a.csv.tidemill", "b._COPYING_", "_tmp/z.csv"]
    for name in ("k=1/a.csv", *hidden, *left_by_programs):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitkeep").touch()
    (tmp_path / "k=1" / "link.csv").symlink_to(tmp_path / "nowhere")
    found = list_source(source(str(tmp_path)))
    passed_over = {str(path.relative_to(tmp_path)) for path in found.passed_over}
    assert passed_over == {*hidden, "k=1/link.csv"}
    assert [file.path.name for file in found.files] == ["a.csv"]
    filtered = list_source(source(str(tmp_path), pathGlobFilter="a*"))
    assert filtered.passed_over == ()


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputMissing) as refused:
        list_source(source(str(tmp_path / "none")))
    assert refused.value.path == str(tmp_path / "none")


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(InputMissing):
        list_source(source(str(tmp_path / "a.csv")))


@pytest.mark.parametrize("glob", ["/none/*", "/none/x*/y", "/none/{a,b}"])
def test_the_fixed_part_of_a_glob_must_exist(tmp_path: Path, glob: str) -> None:
    with pytest.raises(InputMissing):
        list_source(source(f"{tmp_path}{glob}"))


@pytest.mark.parametrize("glob", ["/in/x*", "/in/*", "/in/{a,b}", "/in/[ab].csv"])
def test_a_glob_that_matches_nothing_yet_is_empty(tmp_path: Path, glob: str) -> None:
    (tmp_path / "in").mkdir()
    assert list_source(source(f"{tmp_path}{glob}")).files == ()


def test_sizes_and_times_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("12345")
    (found,) = list_source(source(str(tmp_path))).files
    assert found.size == 5
    assert found.modified_ms == (tmp_path / "a.csv").stat().st_mtime_ns // 1_000_000


def test_a_directory_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.csv").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [f.path for f in list_source(source(str(tmp_path / "link"))).files] == [
        tmp_path / "link" / "a.csv"
    ]


@pytest.mark.parametrize("options", [{}, {"recursiveFileLookup": "true"}])
@pytest.mark.parametrize(
    ("glob", "locked"), [("", "in"), ("", "in/sub"), ("/*", "in"), ("/s*/*.csv", "in/sub")]
)
def test_a_folder_that_may_not_be_listed_is_no_empty_one(
    tmp_path: Path, glob: str, locked: str, options: dict[str, str]
) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "a.csv").touch()
    (tmp_path / locked).chmod(0)
    try:
        with modes_count(), pytest.raises(InputUnreadable) as refused:
            list_source(source(f"{tmp_path / 'in'}{glob}", **options), "sources.orders.path")
    finally:
        (tmp_path / locked).chmod(0o700)
    assert (refused.value.path, refused.value.field) == (
        str(tmp_path / locked),
        "sources.orders.path",
    )


def test_nor_is_one_whose_files_may_be_listed_and_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").touch()
    (tmp_path / "in").chmod(0o600)
    try:
        with modes_count(), pytest.raises(InputUnreadable) as refused:
            list_source(source(str(tmp_path / "in")))
    finally:
        (tmp_path / "in").chmod(0o700)
    assert refused.value.path == str(tmp_path / "in" / "a.csv")


@pytest.mark.parametrize("links", [["self"], ["a", "b"], ["sub/up"]])
@pytest.mark.parametrize("options", [{}, {"recursiveFileLookup": "true"}])
def test_links_that_lead_in_circles_are_named_before_they_are_followed(
    tmp_path: Path, links: list[str], options: dict[str, str]
) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").touch()
    for link in links:
        (tmp_path / "in" / link).symlink_to(tmp_path / "in")
    with pytest.raises(InputCircular) as refused:
        list_source(source(str(tmp_path / "in"), **options))
    assert refused.value.path in [tmp_path / "in" / link for link in links]


def test_a_link_that_leads_to_nothing_but_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(InputCircular) as refused:
        list_source(source(str(tmp_path)))
    assert refused.value.path == tmp_path / "a"


def test_a_chain_of_folders_that_each_link_twice_to_the_next_ends(tmp_path: Path) -> None:
    folders = [tmp_path / "in", *(tmp_path / f"{n}" for n in range(30))]
    for folder in folders:
        folder.mkdir()
    for folder, following in pairwise(folders):
        (folder / "left").symlink_to(following)
        (folder / "right").symlink_to(following)
    with pytest.raises(InputCircular):
        list_source(source(str(tmp_path / "in")))


def test_a_folder_that_two_links_lead_to_is_read_by_both_as_spark_does(tmp_path: Path) -> None:
    for name in ("in", "day"):
        (tmp_path / name).mkdir()
    (tmp_path / "day" / "a.csv").touch()
    for link in ("first", "second"):
        (tmp_path / "in" / link).symlink_to(tmp_path / "day")
    found = list_source(source(str(tmp_path / "in"), recursiveFileLookup="true")).files
    assert [file.path.relative_to(tmp_path) for file in found] == [
        Path("in/first/a.csv"),
        Path("in/second/a.csv"),
    ]
