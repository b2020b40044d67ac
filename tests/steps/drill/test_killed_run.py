"""Runs that are killed, with shell commands in the place of the steps."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from tidemill.contract.report import Step
from tidemill.steps.read_only.drill.killed_run import (
    Kill,
    QuietRunFailed,
    RetryFailed,
    StepProcesses,
    run_quietly,
    run_with_kills,
)
from tidemill.steps.read_only.drill.moments import STEPS, Moment, choose_moments

# Writes two files, and waits after the one that is named until somebody kills it; once it was
# killed there, it goes on with what is missing.
STEP = """
cd "$1"
for n in 1 2; do
  if [ ! -e "$2-$n" ]; then
    [ "$2-$n" = "$3" ] && stay=yes
    echo "$2" > "$2-$n"
    if [ "$stay" ]; then
      sleep 600 &
      echo $! > "$1.child"
      wait
    fi
  fi
done
echo "$2 has written $(ls | wc -l)"
"""


def steps(home: Path, *, stays_after: str = "", script: str = STEP) -> StepProcesses:
    """Steps that write into a folder.

    Args:
        stays_after: The file after which its step does not go on by itself.
    """
    home.mkdir(exist_ok=True)

    def command(step: Step) -> list[str]:
        return ["sh", "-c", script, "sh", str(home), step, stays_after]

    return StepProcesses(home, command, dict(os.environ), home.with_name(f"{home.name}-logs"))


def written(home: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(home.iterdir())}


def played(processes: StepProcesses, *moments: Moment) -> list[Kill]:
    return run_with_kills(processes, moments, 7, lambda kill: None)


def test_a_run_without_kills_tells_what_each_step_wrote(tmp_path: Path) -> None:
    lines: list[str] = []
    watched = run_quietly(steps(tmp_path / "quiet"), lines.append)
    assert [*watched] == [*STEPS]
    for step, one in watched.items():
        assert {write.path for write in one.writes} == {f"{step}-1", f"{step}-2"}
    assert len(lines) == len(STEPS)


def test_a_step_is_killed_at_a_write_with_all_its_children_and_goes_on_in_its_retry(
    tmp_path: Path,
) -> None:
    run_quietly(steps(tmp_path / "quiet"), lambda _: None)
    killed = tmp_path / "killed"
    (kill,) = played(steps(killed, stays_after="ingest-1"), Moment("ingest", "ingest-#", 1, 0.05))
    assert (kill.number, kill.seed, kill.step, kill.done) == (1, 7, "ingest", True)
    # Those of the doctor, and the one at which it was killed.
    assert (kill.at, kill.files) == ("ingest-1", 3)
    child = int(Path(f"{killed}.child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert written(killed) == written(tmp_path / "quiet")


def test_a_step_can_be_killed_more_than_once(tmp_path: Path) -> None:
    script = STEP.replace('"$2-$n" = "$3"', '"$2" = "$3"')
    processes = steps(tmp_path / "killed", stays_after="publish", script=script)
    kills = played(processes, Moment("publish", "publish-#", 1), Moment("publish", "publish-#", 2))
    assert [(one.number, one.at, one.done) for one in kills] == [
        (1, "publish-1", True),
        (2, "publish-2", True),
    ]


def test_a_kill_waits_for_the_write_that_it_is_meant_for(tmp_path: Path) -> None:
    processes = steps(tmp_path / "killed", stays_after="gate-2")
    (kill,) = played(processes, Moment("gate", "gate-#", 2))
    assert kill.at == "gate-2"


def test_a_step_that_ends_before_its_moment_is_told_as_not_killed(tmp_path: Path) -> None:
    (kill,) = played(steps(tmp_path / "killed"), Moment("gate", "never/#.json", 1))
    assert not kill.done


def test_the_moments_of_a_watched_run_are_met_by_the_next_one(tmp_path: Path) -> None:
    watched = run_quietly(steps(tmp_path / "quiet"), lambda _: None)
    (moment,) = choose_moments({"ingest": watched["ingest"]}, 1, 3)
    place = f"ingest-{moment.count}"
    (kill,) = played(steps(tmp_path / "killed", stays_after=place), moment)
    assert (kill.at, kill.done) == (place, True)


def test_a_run_that_fails_without_a_kill_is_an_error_with_its_last_line(tmp_path: Path) -> None:
    script = STEP + '[ "$2" != gate ] || { echo "no suite"; exit 3; }'
    with pytest.raises(QuietRunFailed) as caught:
        run_quietly(steps(tmp_path / "quiet", script=script), lambda _: None)
    assert caught.value.step == "gate"
    assert "exit code 3: no suite" in caught.value.what


def test_a_retry_that_does_not_recover_is_an_error_with_its_exit_code_and_seed(
    tmp_path: Path,
) -> None:
    script = '[ ! -e "$1/$2-1" ] || exit 4' + STEP
    processes = steps(tmp_path / "killed", stays_after="publish-1", script=script)
    with pytest.raises(RetryFailed) as caught:
        played(processes, Moment("publish", "publish-#", 1))
    found = caught.value
    assert (found.step, found.exit_code, found.seed) == ("publish", 4, 7)
    assert Path(found.folder).is_dir()
