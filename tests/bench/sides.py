"""Where both sides of a comparison put what they make, and the commands of ours."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench import orders
from tests.bench.measure import Command
from tidemill.contract.project import REPOSITORY
from tidemill.spec.load import load_spec
from tidemill.storage.root_identity import memory_file
from tidemill.toolchain.class_archive import submit_options
from tidemill.toolchain.java import java_home
from tidemill.toolchain.spark_conf import driver_java_options, is_small, session_conf

SCRIPTS = Path(__file__).parent / "scripts"
MAIN = str(REPOSITORY / "spark_jobs" / "tidemill" / "main.py")
CORES = 2
SUBMIT = (str(Path(sys.executable).with_name("spark-submit")), "--master", f"local[{CORES}]")


class Sides:
    """One folder with a project and a place for both sides' output.

    Args:
        home: The folder.
        begun: Whether it has output that is to stay.
        form: The format of the input files: `csv` or `json`.
    """

    def __init__(self, home: Path, *, begun: bool = False, form: str = "csv") -> None:
        self.home, self.form = home, form
        orders.write_project(home / "project", sources=orders.source_of(form))
        self.environ = {
            **os.environ,
            "TIDEMILL_PROJECTS": str(home / "project"),
            "TIDEMILL_ROOT": str(home / "ours"),
            "ORDERS_INPUT": str(home / "input"),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "JAVA_HOME": str(java_home(os.environ)),
        }
        if not begun:
            self.fresh()

    @property
    def our_environ(self) -> dict[str, str]:
        """The environment of our side, as the Airflow operator gives it to spark-submit."""
        return {**self.environ, **submit_options(self.environ, self.environ["JAVA_HOME"])}

    @property
    def theirs(self) -> Path:
        return self.home / "theirs"

    def fresh(self) -> None:
        for side in ("ours", "theirs"):
            shutil.rmtree(self.home / side, ignore_errors=True)
            (self.home / side).mkdir()
        # It would take the new root for the old one whose disk is not mounted.
        memory_file(self.home / "ours").unlink(missing_ok=True)

    def step(self, step: str, run: str = "bench", names: Sequence[str] = (orders.NAME,)) -> Command:
        return [sys.executable, "-m", "tidemill.main", step, *names, "--run-id", run, "--no-spark"]

    def ingest(
        self, backlog: int, names: Sequence[str] = (orders.NAME,), *following: str
    ) -> Command:
        """As the Airflow operator submits it.

        Args:
            following: Arguments by which the process performs steps after the ingest.
        """
        spec = load_spec(self.home / f"project/dags/specs/{orders.NAME}.yaml", self.environ)
        conf = [f"--conf={key}={value}" for key, value in session_conf(spec).items()]
        options = driver_java_options(backlog, environ=self.environ)
        java = ["--driver-java-options", options] if options else []
        return [*SUBMIT, *conf, *java, MAIN, "ingest", *names, "--run-id", "bench", *following]

    def whole_run(self, backlog: int, names: Sequence[str] = (orders.NAME,)) -> list[Command]:
        """As Airflow's tasks: one doctor, one ingest, and gate and publish where it ends."""
        doctor = self.step("doctor", names=names)
        if is_small(backlog):
            return [doctor, self.ingest(backlog, names, "--through=publish")]
        commands = [doctor, self.ingest(backlog, names)]
        for name in names:
            commands += [self.step("gate", names=[name]), self.step("publish", names=[name])]
        return commands


class FileSides(Sides):
    """Both sides on files."""

    def input(self, *, megabytes: float, files: int) -> None:
        shutil.rmtree(self.home / "input", ignore_errors=True)
        orders.write_input(self.home / "input", megabytes=megabytes, files=files, form=self.form)

    def hand_written(self, script: str) -> Command:
        folders = [str(self.theirs)]
        if script == "ingest":
            folders = [str(self.home / "input"), *folders, self.form]
        return [*SUBMIT, str(SCRIPTS / f"{script}.py"), *folders]

    @property
    def backlog(self) -> int:
        return sum(file.stat().st_size for file in (self.home / "input").iterdir())
