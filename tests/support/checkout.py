"""A checkout of this repository as it stands, in which `make` does no harm."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.project import REPOSITORY
from tidemill_airflow.local.environment import Kept

NOT_COPIED = shutil.ignore_patterns(
    ".git",
    ".env",
    ".venv",
    ".airflow",
    ".tidemill",
    ".jars",
    ".artefacts",
    ".versions",
    ".*_cache",
    "__pycache__",
    "*.egg-info",
)
SETTINGS = ("AIRFLOW", "TIDEMILL", "PYSPARK", "SPARK", "MAKE")


def check_out(folder: Path) -> Path:
    """Copy the working tree, and lend it this Python's packages as if `make setup` had run.

    Args:
        folder: Where it goes; must not exist.

    Returns:
        The folder.
    """
    shutil.copytree(REPOSITORY, folder, ignore=NOT_COPIED)
    environment = folder / ".venv"
    venv.create(environment, symlinks=True)
    for script in Path(sys.executable).parent.iterdir():
        ours = environment / "bin" / script.name
        if not ours.is_symlink() and not ours.exists():
            ours.symlink_to(script)
    packages = sysconfig.get_path("purelib")
    tidemill = environment / "bin" / "tidemill"
    tidemill.unlink(missing_ok=True)
    python = environment / "bin" / "python"
    tidemill.write_text(f"#!{python}\nfrom tidemill.cli import main\n\nmain()\n")
    tidemill.chmod(0o755)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    paths = (folder, folder / "spark_jobs", folder / "plugins", packages)
    own.joinpath("checkout.pth").write_text("".join(f"{path}\n" for path in paths))
    for step in ("installer", "packages", "project"):
        environment.joinpath(f".done-{step}").touch()
    return folder


def somebody() -> dict[str, str]:
    """The environment of somebody at a shell, without what this test session has set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}


@dataclass(frozen=True)
class Demo:
    """What `make demo` left in a checkout.

    Args:
        checkout: Where it ran.
        output: What it printed.
    """

    checkout: Path
    output: str

    @property
    def kept(self) -> Kept:
        return Kept(self.checkout)


def make_demo(folder: Path) -> Demo:
    """Check out into a folder, and run `make demo` there."""
    made = subprocess.run(
        ["make", "demo"],
        cwd=check_out(folder),
        env=somebody(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout
    return Demo(folder, made.stdout)


@contextmanager
def up(
    demo: Demo, command: str, environ: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`make up` at work where the demo has run; stopped by Ctrl-C.

    Args:
        demo: Where.
        command: As somebody types it.
        environ: What else they have set.

    Yields:
        The process, and the address that it told; '' where it ended without one.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    make = subprocess.Popen(
        ["bash", "-c", command],
        cwd=demo.checkout,
        env={**somebody(), **environ, "PORT": str(port)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert make.stdout is not None
    try:
        told = (re.search(r"(http://[\d.:]+)/dags", line) for line in make.stdout)
        yield make, next((address[1] for address in told if address), "")
    finally:
        if make.poll() is None:
            os.killpg(make.pid, signal.SIGINT)
        make.wait(60)
        make.stdout.close()
