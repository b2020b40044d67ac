"""An earlier state of a project, as git has it."""

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from tidemill.contract.errors import UsageError


class NoSuchState(UsageError):
    """Git has no such state of a project; carries `home`, `ref` and what git `said`."""


@contextmanager
def state_of(home: Path, ref: str) -> Iterator[Path]:
    """A copy of a project as of a commit, a branch or a tag; gone afterwards.

    Args:
        home: The project, within a working tree of git.
        ref: Such as `origin/main`.

    Raises:
        NoSuchState: git does not know the ref, or the folder is not in a repository.
    """
    known = _git(home, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}", ref=ref)
    commit = known.decode().strip()
    with TemporaryDirectory(prefix="tidemill-against-") as folder:
        # A project that was not there yet had no pipeline.
        if _git(home, "ls-tree", "--name-only", commit, "./", ref=ref).strip():
            archive = _git(home, "archive", "--format=tar", commit, ".", ref=ref)
            with tarfile.open(fileobj=BytesIO(archive)) as files:
                files.extractall(folder, filter="data")
        yield Path(folder).resolve()


def _git(home: Path, *arguments: str, ref: str) -> bytes:
    try:
        ended = subprocess.run(["git", *arguments], cwd=home, capture_output=True, check=False)
    except OSError as error:
        raise _missing(home, ref, str(error)) from error
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        raise _missing(home, ref, said[-1] if said else "it says nothing")
    return ended.stdout


def _missing(home: Path, ref: str, said: str) -> NoSuchState:
    return NoSuchState(
        f"Git has no state '{ref}' of {home}: {said}.",
        remedy="Name a commit, branch or tag of its repository; a build server may have to fetch "
        "it first.",
        home=home,
        ref=ref,
        said=said,
    )
