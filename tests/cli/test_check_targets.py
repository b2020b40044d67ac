"""`tidemill check` reads the class of a target of the user's own, and runs none of it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tidemill
from tests.support.check_problems import SPEC, edit, found
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.checks import dag_integrity

TARGET = "spark_jobs/targets/queue.py"
SOUND = """\
raise SystemExit("it was run")


class Queue:
    swaps = True

    def __init__(self, options, *, pipeline, epoch, say):
        self.options = options

    def find(self, event):
        return None

    def apply(self, event, payload):
        return event.seq
"""
INIT = "Write: def __init__(self, options, *, pipeline, epoch, say): …"
FIND = "Write: def find(self, event): …"
APPLY = "Write: def apply(self, event, payload): …"


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)


@pytest.fixture
def target_line(mill: OrdersPipeline) -> int:
    """The line of the spec that names the class."""
    spec = mill.home / "project" / SPEC
    text = spec.read_text().rstrip() + '\npublish:\n  - kind: python\n    target: "queue:Queue"\n'
    spec.write_text(text)
    return text.count("\n")


def write(mill: OrdersPipeline, text: str) -> None:
    path = mill.home / "project" / TARGET
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "text",
    [
        SOUND,
        SOUND.replace("*, pipeline, epoch, say", "pipeline, epoch, say, more=1"),
        SOUND.replace("self, options, *, pipeline, epoch, say", "self, options, /, **given"),
        SOUND.replace("def apply(self, event, payload)", "def apply(self, *given)"),
        SOUND.replace("Queue:", "Queue(Base):").replace("def apply", "def other"),
        "from elsewhere import Queue\n",
        SOUND.replace("class Queue", "class Other") + "\n\nQueue = Other\n",
    ],
)
@pytest.mark.usefixtures("target_line")
def test_a_class_that_can_be_called_is_sound_and_is_not_run(
    tidemill: Tidemill, mill: OrdersPipeline, text: str
) -> None:
    write(mill, text)
    answer = tidemill("check", NAME, "--json")
    assert (answer.exit_code, answer.json["problems"]) == (ExitCode.DONE, [])


@pytest.mark.parametrize(
    ("old", "new", "line", "remedy"),
    [
        ("class Queue", "class Queues", None, "Did you mean 'Queues'?"),
        ("class Queue", "class Unlike", None, "Write: class Queue: …"),
        ("def apply", "def write", 4, APPLY),
        ("def find", "async def find", 10, FIND),
        ("(self, event):", "(self):", 10, FIND),
        ("event, payload", "event", 13, APPLY),
        ("event, payload", "event, payload, table", 13, APPLY),
        ("event, payload", "event, payload, *, table", 13, APPLY),
        ("pipeline, epoch, say", "pipeline, epoch", 7, INIT),
        ("pipeline, epoch, say", "pipeline, epoch, say, table", 7, INIT),
        ("options, *, pipeline", "*, options, pipeline", 7, INIT),
        ("options, *, pipeline", "pipeline, options", 7, INIT),
        ("def __init__", "def prepare", 4, INIT),
    ],
)
@pytest.mark.usefixtures("target_line")
def test_a_class_that_cannot_be_called_is_found_with_its_line(
    tidemill: Tidemill, mill: OrdersPipeline, old: str, new: str, line: int | None, remedy: str
) -> None:
    write(mill, SOUND)
    edit(mill, TARGET, old, new)
    assert found(tidemill("check", NAME, "--json")) == {(TARGET, line, remedy)}


@pytest.mark.usefixtures("target_line")
def test_a_file_that_is_not_python_is_found_with_its_line(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    write(mill, "class Queue:\n  def find(self event): ...\n")
    assert found(tidemill("check", NAME, "--json")) == {(TARGET, 2, "Fix the syntax error.")}


def test_a_target_without_a_file_is_found_in_the_spec(
    tidemill: Tidemill, mill: OrdersPipeline, target_line: int
) -> None:
    edit(mill, SPEC, "queue:Queue", "absent_one:Queue")
    ((file, line, _),) = found(tidemill("check", NAME, "--json"))
    assert (file, line) == (SPEC, target_line)
