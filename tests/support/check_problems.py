"""What `tidemill check` found, and how to give it something to find."""

from __future__ import annotations

from tests.cli.conftest import Answer
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.errors import ExitCode

SPEC = f"dags/specs/{NAME}.yaml"
TRANSFORM = f"spark_jobs/transforms/{NAME}.py"
SUITE = f"expectations/suites/{NAME}.json"


def edit(mill: OrdersPipeline, file: str, old: str, new: str) -> int:
    """Replace a text of the project; the line of what was replaced is returned."""
    path = mill.home / "project" / file
    text = path.read_text()
    assert text.count(old) == 1, text
    path.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def found(answer: Answer) -> set[tuple[str, int | None, str]]:
    """File name, line and remedy of every problem."""
    assert answer.exit_code == ExitCode.USAGE
    return {
        (p["file"].split("/project/")[-1], p["line"], p["remedy"]) for p in answer.json["problems"]
    }
