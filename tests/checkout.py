"""A checkout of this repository as it stands, in which `make` disturbs nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.contract.project import REPOSITORY
from tidemill.environment import Kept

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".airflow", ".tidemill", ".*_cache", "__pycache__", "*.egg-info"
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
    tidemill.write_text(f"#!{python}\nfrom spark_jobs.cli import main\n\nmain()\n")
    tidemill.chmod(0o755)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    own.joinpath("checkout.pth").write_text(f"{folder}\n{folder / 'plugins'}\n{packages}\n")
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
