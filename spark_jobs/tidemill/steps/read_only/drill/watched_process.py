"""A step as a process group of its own: its writes are watched, and it may be killed at one."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.steps.read_only.drill.moments import Moment, Watched, Write, kind_of

# Seconds between two looks at the folder, and how many times longer than a look that is at least.
PAUSE, SHARE = 0.01, 4.0
# Nanoseconds; the clock of a file system may be no finer.
TICK = 2_000_000_000


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Args:
        exit_code: None where it was killed.
        at: The write at which it was killed; empty where that was before any.
    """

    exit_code: int | None
    watched: Watched
    at: str = ""


def run_watched(
    command: Sequence[str],
    folder: Path,
    log: Path,
    environ: Mapping[str, str],
    moment: Moment | None = None,
) -> Ended:
    """Run a process, and kill its whole group with SIGKILL once a moment has come.

    Args:
        folder: What it writes; it need not be there yet.
        log: Gets its output, and `.err` beside it what it writes to standard error.
        moment: None to let it run.
    """
    watch = FolderWatch(folder)
    before = Counter(map(kind_of, watch.new_files()))
    counts, writes = before.copy(), list[Write]()
    due: float | None = moment.delay if moment and not moment.kind else None
    begun = time.monotonic()
    with log.open("wb") as out, log.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            command,
            env=dict(environ),
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            while True:
                # Before the look, so that the last writes of a process that has ended are seen.
                exit_code = process.poll()
                seconds = time.monotonic() - begun
                for path in watch.new_files():
                    writes.append(Write(path, seconds))
                    kind = writes[-1].kind
                    counts[kind] += 1
                    if due is None and moment and kind == moment.kind:
                        due = seconds + moment.delay if counts[kind] >= moment.count else None
                looked = time.monotonic() - begun
                if exit_code is None and due is not None and looked >= due:
                    os.killpg(process.pid, signal.SIGKILL)
                    # A process that has ended meanwhile was not killed.
                    exit_code = process.wait()
                if exit_code is not None:
                    code = None if exit_code == -signal.SIGKILL else exit_code
                    at = writes[-1].path if writes else ""
                    return Ended(code, Watched(tuple(writes), seconds, before), at)
                time.sleep(max(PAUSE, SHARE * (looked - seconds)))
        finally:
            # Where the drill itself is stopped.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class FolderWatch:
    """The files that appear below a folder; one on a disk is listed again only when it has changed.

    Args:
        folder: It need not be there yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Folder -> its time when it was listed, and the folders in it.
        self._listed: dict[str, tuple[int, list[str]]] = {}
        self._known: set[str] = set()

    def new_files(self) -> list[str]:
        """What has appeared since the last call, relative to the folder, sorted."""
        if isinstance(self._folder, ObjectPath):
            return sorted(self._new_objects(self._folder))
        found: list[str] = []
        pending = [""]
        while pending:
            pending += self._look(pending.pop(), found)
        return sorted(found)

    def _new_objects(self, folder: ObjectPath) -> Iterator[str]:
        """As `new_files`; only what is new and empty is looked at, which may mark a folder."""
        for one in folder.client.objects(folder.key):
            name = one.key.removeprefix(f"{folder.key}/")
            if name not in self._known:
                self._known.add(name)
                if one.size or (folder / name).is_file():
                    yield name

    def _look(self, below: str, found: list[str]) -> list[str]:
        place = self._folder / below
        try:
            changed = place.stat().st_mtime_ns
            seen, folders = self._listed.get(below, (-1, []))
            if changed == seen:
                return folders
            entries = [*os.scandir(place)]
        except OSError:
            # It is not there yet, or not any more.
            return []
        paths = {f"{below}/{entry.name}".lstrip("/"): entry for entry in entries}
        folders = [path for path, entry in paths.items() if entry.is_dir(follow_symlinks=False)]
        fresh = {*paths} - {*folders} - self._known
        self._known |= fresh
        found += fresh
        # What appears within the same tick of the clock leaves the folder's time as it is.
        if time.time_ns() - changed > TICK:
            self._listed[below] = (changed, folders)
        return folders
