"""The root's identity: an empty folder in the place of a root is not one that starts over."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.file_modes import modes_count
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.storage.root_identity import (
    PipelineFolderLost,
    RootForeign,
    RootNotInitialised,
    identity_file,
    initialise,
    memory_file,
    root_id_of,
    unregister,
    verify_born_here,
    verify_pipeline,
    verify_root,
)

ENV = "TIDEMILL_ROOT_ID"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An unknown empty folder."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def unmount(root: Path) -> Path:
    """Leave the mount point; the disk is returned."""
    disk = root.with_name("disk")
    root.rename(disk)
    root.mkdir()
    return disk


def refusal(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as error:
        call()
    return error.value


def test_a_folder_that_nobody_knows_gets_an_identity_at_the_first_look(root: Path) -> None:
    assert verify_root(root, {}) is None
    own = root_id_of(root)
    assert own is not None
    assert (verify_root(root, {}), root_id_of(root)) == (None, own)


def test_an_empty_folder_in_its_place_is_refused_until_the_disk_is_back(root: Path) -> None:
    verify_root(root, {})
    own, disk = root_id_of(root), unmount(root)
    error = refusal(lambda: verify_root(root, {}))
    assert (type(error), error.known) == (RootNotInitialised, own)
    root.rmdir()
    disk.rename(root)
    assert verify_root(root, {}) is None


def test_what_init_was_told_of_is_a_new_root(root: Path) -> None:
    verify_root(root, {})
    own = root_id_of(root)
    unmount(root)
    assert initialise(root, environ={}).id != own
    assert verify_root(root, {}) is None


@pytest.mark.remedy("RootForeign")
def test_another_root_in_its_place_is_refused_until_somebody_accepts_it(root: Path) -> None:
    initialise(root, "first", {})
    unmount(root)
    initialise(root, "second", {})
    memory = memory_file(root)
    memory.write_text(memory.read_text().replace("second", "first"))
    error = refusal(lambda: verify_root(root, {}))
    assert (type(error), error.known, error.found) == (RootForeign, "first", "second")
    initialise(root, environ={})
    assert verify_root(root, {}) is None


def test_the_environment_knows_it_where_nothing_beside_the_root_can(root: Path) -> None:
    initialise(root, environ={ENV: "ours"})
    memory_file(root).unlink()
    assert verify_root(root, {ENV: "ours"}) is None
    unmount(root)
    assert isinstance(refusal(lambda: verify_root(root, {ENV: "ours"})), RootNotInitialised)


def test_an_environment_that_names_another_root_is_wrong_usage(root: Path) -> None:
    initialise(root, "ours", {})
    with pytest.raises(UsageError) as error:
        initialise(root, environ={ENV: "other"})
    assert error.value.id == "ours"


def test_where_nothing_can_remember_it_that_is_said(root: Path) -> None:
    root.parent.chmod(0o500)
    try:
        with modes_count():
            warning = verify_root(root, {})
    finally:
        root.parent.chmod(0o700)
    assert warning is not None
    assert f"{ENV}={root_id_of(root)}" in warning


def test_a_generation_of_another_root_is_refused_until_the_root_is_that_one(root: Path) -> None:
    initialise(root, "ours", {})
    layout = Layout(root, "orders")
    note = layout.note("live-0001")
    verify_born_here(layout, None, note)
    verify_born_here(layout, "ours", note)
    error = refusal(lambda: verify_born_here(layout, "other", note))
    assert (type(error), error.known, error.found) == (RootForeign, "other", "ours")
    initialise(root, "other", {})
    verify_born_here(layout, "other", note)


def test_a_pipeline_that_lost_its_folder_is_no_new_one_until_it_is_dropped(root: Path) -> None:
    layout = Layout(root, "orders")
    verify_pipeline(layout)
    layout.ledger("live-0001").mkdir(parents=True)
    verify_pipeline(layout)
    shutil.rmtree(layout.home)
    error = refusal(lambda: verify_pipeline(layout))
    assert (type(error), error.folder) == (PipelineFolderLost, layout.home)
    unregister(layout)
    verify_pipeline(layout)


def test_the_identity_is_kept_when_the_root_is_moved(root: Path) -> None:
    verify_root(root, {})
    own = root_id_of(root)
    moved = root.rename(root.with_name("moved"))
    assert verify_root(moved, {}) is None
    assert (root_id_of(moved), identity_file(moved).exists()) == (own, True)
