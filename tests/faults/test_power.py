"""The power fails at a system call: what was not synced is gone, and nothing that counts is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.power import cut_power
from tests.support.processes import child
from tidemill.contract.project import REPOSITORY

# Writes one file with all care, and others with less; a folder too, and a new name for a file.
WRITES = """
import os, sys
from pathlib import Path
from tests.faults.library import Fault, armed

def write(name, *, sync=False):
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.write(descriptor, b"content")
    if sync:
        os.fsync(descriptor)
    os.close(descriptor)

home = Path(sys.argv[1])
with armed(home, int(sys.argv[2]), Fault.POWER, report=1):
    write(home / "synced", sync=True)
    write(home / "draft", sync=True)
    os.link(home / "draft", home / "linked")
    os.unlink(home / "draft")
    write(home / "written")
    folder = os.open(home, os.O_RDONLY)
    os.fsync(folder)
    write(home / "nameless", sync=True)
    os.mkdir(home / "folder")
    write(home / "folder" / "within", sync=True)
    os.rename(home / "old", home / "new")
    write(home / "fresh", sync=True)
    os.rename(home / "fresh", home / "replaced")
    os.mkdir(home / "never")
"""
KEPT = {"synced": "content", "linked": "content", "written": ""}


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (
            False,
            {
                **KEPT,
                "nameless": "content",
                "folder/within": "content",
                "new": "old",
                "replaced": "content",
            },
        ),
        (True, {**KEPT, "old": "old", "replaced": "before"}),
    ],
)
def test_a_power_cut_takes_what_nobody_has_synced(
    tmp_path: Path, with_faults: dict[str, str], names: bool, left: dict[str, str]
) -> None:
    home, start = tmp_path / "home", tmp_path / "start"
    for folder in (home, start):
        folder.mkdir()
        (folder / "old").write_text("old")
        (folder / "replaced").write_text("before")
    with child(WRITES, home, "24", environ=with_faults) as process:
        said, _ = process.communicate()
    *done, hit = said.splitlines()
    assert (process.returncode, hit) == (-9, f"mkdir {home / 'never'}")
    cut_power(home, start, done, names=names)
    found = {str(p.relative_to(home)): p.read_text() for p in home.rglob("*") if p.is_file()}
    assert found == left


@pytest.mark.parametrize(("synced", "name"), [(False, "was"), (True, "now")])
def test_a_renamed_folder_takes_along_what_was_synced_in_it(
    tmp_path: Path, synced: bool, name: str
) -> None:
    home, start = tmp_path / "home", tmp_path / "start"
    for folder in (home / "now", start / "was"):
        folder.mkdir(parents=True)
        (folder / "old").write_text("old")
    for fresh in ("synced", "nameless"):
        (home / "now" / fresh).write_text(fresh)
    calls = [
        *(f"open {home}/was/synced", f"fsync {home}/was/synced", f"fsync {home}/was"),
        *(f"open {home}/was/nameless", f"fsync {home}/was/nameless"),
        *(f"from {home}/was", f"rename {home}/now"),
    ]
    cut_power(home, start, [*calls, f"fsync {home}"] if synced else calls, names=True)
    found = sorted(str(p.relative_to(home)) for p in home.rglob("*") if p.is_file())
    assert found == [f"{name}/old", f"{name}/synced"]


@pytest.mark.usefixtures("with_faults")
@pytest.mark.parametrize(("case", "fault"), [("append", "power"), ("batch", "power-names")])
def test_a_power_cut_loses_nothing_of_what_ledger_and_journal_vouch_for(
    case: str, fault: str
) -> None:
    options = ["--case", case, "--fault", fault, "--sample", "10"]
    played = subprocess.run(
        [sys.executable, "-m", "tests.faults", *options],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert played.returncode == 0, played.stdout
    assert f"10 {fault}" in played.stdout
