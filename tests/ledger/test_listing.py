"""Which files Spark would list; each case was tried with Spark 4.2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.contract.file_source import FileSource
from spark_jobs.ledger.listing import InputMissing, list_source


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
