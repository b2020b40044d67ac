"""Jars that Spark itself does not ship, pinned in `jars.lock` and fetched before any run.

`python -m tidemill.toolchain.jars` puts them into `.jars/` of a clone, into the environment of an
installed Tidemill, or where `TIDEMILL_JARS` says.
Standard library only: `make jars` asks it before any step has run.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from tidemill.contract.content_hash import sha256_of
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.contract.log import Log
from tidemill.contract.project import INSTALLED, SHIPPED
from tidemill.toolchain.checkpoint_jar import build_checkpoint_jar, checkpoint_jar
from tidemill.toolchain.ivy import fetch
from tidemill.toolchain.jar_lock import Jar, read_lock, write_lock

LOCK = SHIPPED / "jars.lock"
FOLDER_VARIABLE = "TIDEMILL_JARS"
# The set with the client of object stores, to which a jar of our own belongs.
OBJECT_STORES = "s3a"


class JarsMissing(UsageError):
    """Jars were not fetched yet; carries the `sets` and the names of what is `missing`."""


class WrongHash(UsageError):
    """A fetched jar is not the locked one; carries `module`, `locked` and `found`."""


def folder_of(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of the jars: `TIDEMILL_JARS`, or that of the clone or the environment."""
    # Each version of Tidemill has jars of its own, and so has each environment.
    default = Path(sys.prefix) / "share" / "tidemill" / "jars" if INSTALLED else SHIPPED / ".jars"
    return Path(environ.get(FOLDER_VARIABLE) or default).resolve()


def all_sets() -> dict[str, tuple[Jar, ...]]:
    """Everything in `jars.lock`, by set."""
    return read_lock(LOCK.read_text(encoding="utf-8"))


def jars_of(*sets: str, environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The jars of some sets, as files for `spark.jars` or a class path.

    Args:
        sets: Names of sets in `jars.lock`, such as `kafka`.

    Raises:
        JarsMissing: Some were not fetched yet; nothing is fetched during a run.
        UsageError: There is no such set.
    """
    paths = [folder_of(environ) / jar.name for jar in _locked(sets)]
    if OBJECT_STORES in sets:
        paths.append(checkpoint_jar(folder_of(environ)))
    if missing := [path.name for path in paths if not path.is_file()]:
        raise JarsMissing(
            f"{len(missing)} of the jars for {' and '.join(sets)} are not in "
            f"{folder_of(environ)}: {', '.join(missing[:3])}{' …' if missing[3:] else ''}.",
            remedy="Run `make jars`, or where Tidemill is installed "
            f"`python -m tidemill.toolchain.jars {' '.join(sets)}`.",
            sets=sets,
            missing=missing,
        )
    return tuple(paths)


def resolve(
    sets: Iterable[str],
    environ: Mapping[str, str] = os.environ,
    log: Log = lambda _: None,
) -> tuple[Path, ...]:
    """Fetch what is missing of some sets, all in one go, and check every hash.

    Args:
        environ: For `TIDEMILL_JARS`, JAVA_HOME and Ivy's settings.
        log: Gets a line of progress now and then.

    Raises:
        WrongHash: A jar is not the locked one; it was not kept.
        JarsUnresolved: A jar could not be had.
        CheckpointJarNotBuilt: Our own jar could not be compiled.
    """
    sets = tuple(sets)
    jars, folder = _locked(sets), folder_of(environ)
    missing = [jar for jar in jars if not (folder / jar.name).is_file()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            count = _Count(len(missing), folder, log)
            fetched = fetch((jar.module for jar in missing), Path(scratch), environ, count)
            for jar in missing:
                _keep(jar, fetched[jar.module], folder)
    built = [build_checkpoint_jar(folder, environ)] if OBJECT_STORES in sets else []
    return (*(folder / jar.name for jar in jars), *built)


def _locked(sets: Sequence[str]) -> tuple[Jar, ...]:
    locked = all_sets()
    for name in sets:
        if name not in locked:
            nearest = next(iter(get_close_matches(name, locked, n=1)), None)
            raise UsageError(
                f"{LOCK.name} has no set of jars '{name}'.",
                remedy=f"Did you mean '{nearest}'?" if nearest else f"It has {', '.join(locked)}.",
                name=name,
                nearest=nearest,
            )
    return tuple(dict.fromkeys(jar for name in sets for jar in locked[name]))


def _keep(jar: Jar, fetched: Path, folder: Path) -> None:
    found = sha256_of(fetched)
    if found != jar.sha256:
        raise WrongHash(
            f"{jar.module} has SHA-256 {found}, and {LOCK.name} says {jar.sha256}: not kept.",
            remedy="Fetch it again; if it stays so, do not trust where it comes from.",
            module=str(jar.module),
            locked=jar.sha256,
            found=found,
        )
    fetched.replace(folder / jar.name)


class _Count:
    """Says how many of the jars have come."""

    def __init__(self, total: int, folder: Path, log: Log) -> None:
        self.done, self.total, self.folder, self.log = -1, total, folder, log
        self()

    def __call__(self) -> None:
        self.done += 1
        self.log(f"Fetching jars into {self.folder}: {self.done} of {self.total}")


def main(argv: Sequence[str] | None = None) -> int:
    """Fetch what is missing, without a word where nothing is; or write the lock."""
    parser = argparse.ArgumentParser(prog="python -m tidemill.toolchain.jars", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help="of jars.lock; all if none is named")
    parser.add_argument("--lock", action="store_true", help="write the lock again")
    given = parser.parse_args(argv)
    progress = _Progress()
    try:
        if given.lock:
            text = LOCK.read_text(encoding="utf-8")
            LOCK.write_text(
                write_lock(text, given.sets or read_lock(text), os.environ), encoding="utf-8"
            )
        else:
            resolve(given.sets or all_sets(), log=progress)
    except UsageError as error:
        progress.end()
        print(error, file=sys.stderr)
        return error.exit_code
    progress.end()
    return ExitCode.DONE


class _Progress:
    """One line, written over on a terminal; elsewhere only its first and its last state."""

    def __init__(self) -> None:
        self.line = ""

    def __call__(self, line: str) -> None:
        if sys.stdout.isatty() or not self.line:
            print(line, end="\r" if sys.stdout.isatty() else "\n", flush=True)
        self.line = line

    def end(self) -> None:
        if self.line:
            print(self.line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
