"""Markers of folders, as Hadoop writes them, in an S3 server."""

from __future__ import annotations

import pytest
from pyarrow.fs import FileSelector

from tests.servers.s3 import S3
from tests.support.s3_root import new_root
from tidemill.contract.objects.folder_marker import marker_settings
from tidemill.contract.objects.object_path import ObjectPath, path_of
from tidemill.file_formats.arrow_files import file_system
from tidemill.storage.folders import copy_folder, entries, names_in, remove_folder, walk

# With all that a URL takes in another form.
MARKED = ("commits", "state/0/k=a%3Ab é+ x")


@pytest.fixture
def folder(s3: S3, monkeypatch: pytest.MonkeyPatch) -> ObjectPath:
    """A folder with two files, one of them empty, and the markers of folders without files."""
    found = path_of(new_root(s3, monkeypatch)) / "checkpoint"
    assert isinstance(found, ObjectPath)
    (found / "metadata").write_text("{}")
    (found / "commits" / "0").touch()
    # Arrow writes a marker as Hadoop does.
    files = file_system(found.parent)
    for name in MARKED:
        files.create_dir(f"{found.name}/{name}")
    assert {one.key for one in found.client.objects(found.key)} > {
        (found / name).key for name in MARKED
    }
    return found


def test_a_marker_is_never_shown_as_a_file(folder: ObjectPath) -> None:
    files = ["commits/0", "metadata"]
    assert sorted(str(path.relative_to(folder)) for path, _ in folder.files()) == files
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")) == []
    assert sorted(names_in(folder)) == ["commits", "metadata", "state"]
    assert names_in(folder / "commits") == ["0"]
    assert names_in(folder / MARKED[1]) == []
    assert [one.path.name for one in entries(folder / MARKED[1])] == []
    assert {name for _, _, names in walk(folder) for name in names} == {"0", "metadata"}
    assert (folder / MARKED[1]).is_dir()
    assert not (folder / MARKED[1]).is_file()


def test_a_folder_is_removed_with_its_markers_and_a_copy_of_it_has_none(
    folder: ObjectPath,
) -> None:
    copy_folder(folder, folder.with_name("copy"))
    beside = folder.with_name("checkpoint-2")
    file_system(folder.parent).create_dir(f"{beside.name}/offsets")
    remove_folder(folder)
    assert not folder.is_dir()
    assert folder.client.objects(folder.key) == []
    listed = file_system(folder.parent).get_file_info(FileSelector("", recursive=True))
    assert {one.path for one in listed} == {
        "checkpoint-2",
        "checkpoint-2/offsets",
        "copy",
        "copy/commits",
        "copy/commits/0",
        "copy/metadata",
    }
    # Only markers are left here.
    remove_folder(beside)
    assert names_in(folder.parent) == ["copy"]


@pytest.mark.parametrize(
    ("settings", "environ", "endpoint"),
    [
        ({"endpoint": "http://h:1/"}, {"AWS_ENDPOINT_URL": "http://i"}, "http://h:1/shop/a%20b/c"),
        ({}, {"AWS_ENDPOINT_URL": "http://i"}, "http://i/shop/a%20b/c"),
        ({}, {"AWS_REGION": "eu-west-1"}, "https://s3.eu-west-1.amazonaws.com/shop/a%20b/c"),
        ({}, {}, "https://s3.us-east-1.amazonaws.com/shop/a%20b/c"),
    ],
)
def test_a_marker_is_asked_of_the_same_store_as_its_bucket(
    settings: dict[str, str], environ: dict[str, str], endpoint: str
) -> None:
    assert marker_settings(settings, "shop", "a b/c", environ)["endpoint"] == endpoint
