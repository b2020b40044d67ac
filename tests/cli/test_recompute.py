"""`reject`, `reinstate`, `redo` and `rebuild` change what consumers read, as a person asked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from tests.cli.conftest import Answer, Tidemill
from tests.support.pipelines.json_pipeline import JsonPipeline
from tests.support.pipelines.sales_pipeline import SUITE, TRANSFORM, sale, sales
from tidemill.contract.errors import ExitCode
from tidemill.journal.event import Event
from tidemill.journal.journal import Journal

Rows = list[tuple[Any, ...]]
WHO = ("--by", "Ada", "--reason", "asked by the shop", "--json")


@dataclass(frozen=True)
class Tables:
    """The published and the rejected rows, sorted."""

    rows: Rows
    rejected: Rows


@dataclass(frozen=True)
class Decision:
    """What a command answered and what consumers read after it.

    Attributes:
        tables: As Delta holds them.
        expected: The same, computed by DuckDB from the input files.
        events: Those that the command added to the journal.
    """

    answer: Answer
    tables: Tables
    expected: Tables
    events: list[Event]


@dataclass
class Shop:
    """A pipeline of sales, and the command for it."""

    flow: JsonPipeline
    tidemill: Tidemill

    def run_to_hold(self, run_id: str) -> None:
        last = [*self.flow.run(run_id).values()][-1]
        assert last.exit_code == ExitCode.HELD, last

    def decide(
        self, *words: str, factor: int = 1, without: Collection[str] = (), process: bool = False
    ) -> Decision:
        """Run a command.

        Args:
            factor: What the transform multiplies the amounts by, for the expected rows.
            without: Names of the files that do not count.
            process: Whether the installed program runs it, in a process of its own.
        """
        earlier = len(self.events())
        words = (words[0], self.flow.name, *words[1:], *WHO)
        answer = self.program(*words) if process else self.tidemill(*words)
        expected = self.expected(factor, without)
        return Decision(answer, self.tables(), expected, self.events()[earlier:])

    def program(self, *words: str) -> Answer:
        program = Path(sys.executable).with_name("tidemill")
        done = subprocess.run(
            [program, *words], env=self.flow.environ, capture_output=True, text=True, check=False
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def events(self) -> list[Event]:
        return list(Journal(self.flow.layout.journal).events())

    def tables(self) -> Tables:
        table = DeltaTable(self.flow.layout.rejected).to_pyarrow_table()
        return Tables(
            self.flow.published("id", "total", "day"),
            sorted(
                (row["reason"], Path(row["file"]).name, identity(row["record"]))
                for row in table.to_pylist()
            ),
        )

    def expected(self, factor: int, without: Collection[str]) -> Tables:
        files = [str(one) for one in self.flow.folder("sales").iterdir() if one.name not in without]
        lines = duckdb.sql(
            """
            SELECT line, parse_filename(filename) AS file, json_valid(line) AS valid,
                   CASE WHEN json_valid(line) THEN line::JSON END AS sale
            FROM (SELECT filename, unnest(str_split(content, chr(10))) AS line
                  FROM read_text($files))
            WHERE line <> ''
            """,
            params={"files": files},
        )
        good = lines.query(
            "lines",
            f"""SELECT sale->>'id', (sale->>'amount')::INT * {factor}, (sale->>'at')[:10]::DATE
                FROM lines WHERE valid AND (sale->>'amount')::INT > 0""",
        )
        bad = lines.query(
            "lines",
            """SELECT CASE WHEN valid THEN 'rule amount_positive' ELSE 'malformed' END, file, line
               FROM lines WHERE NOT valid OR (sale->>'amount')::INT <= 0""",
        )
        return Tables(
            sorted(good.fetchall(), key=repr),
            sorted((reason, file, identity(line)) for reason, file, line in bad.fetchall()),
        )


def identity(record: str) -> str:
    """The id of a rejected row; the whole line where it is not JSON."""
    try:
        return str(json.loads(record)["id"])
    except ValueError:
        return record


@pytest.fixture(scope="module")
def decisions(
    spark: object, tmp_path_factory: pytest.TempPathFactory, tidemill: Tidemill
) -> dict[str, Decision]:
    """One decision after the other on one pipeline, by command."""
    flow = sales(tmp_path_factory.mktemp("shop"))
    shop = Shop(flow, tidemill)
    taken: dict[str, Decision] = {}
    with pytest.MonkeyPatch.context() as environment:
        for name in ("TIDEMILL_ROOT", "TIDEMILL_PROJECTS"):
            environment.setenv(name, flow.environ[name])

        # An amount that the suite forbids, and a good increment that waits behind it.
        wrong = [json.dumps(sale("g", 4, 5000)), json.dumps(sale("h", 4, -1)), "{"]
        flow.arrive_text("sales", "3", wrong)
        shop.run_to_hold("run-3")
        flow.arrive("sales", "4", [sale("i", 4, 60), sale("j", 2, -2)])
        shop.run_to_hold("run-4")
        taken["reject"] = shop.decide("reject", "3", without=["3.json"])

        # The amount was right after all.
        flow.suite = json.loads(json.dumps(SUITE).replace("1000", "10000"))
        flow.write()
        taken["reinstate"] = shop.decide("reinstate", "3")

        # Code that multiplies too much, and a file that came by mistake.
        flow.write(TRANSFORM.format(factor=1000))
        flow.arrive("sales", "5", [sale("k", 5, 70), sale("l", 5, -3)])
        shop.run_to_hold("run-5")
        flow.arrive("sales", "6", [sale("m", 5, 80)])
        shop.run_to_hold("run-6")
        flow.write(TRANSFORM.format(factor=1))
        taken["redo"] = shop.decide("redo", "--exclude", "6.json", without=["6.json"], process=True)

        # New code for everything, while the oldest file is gone.
        flow.write(TRANSFORM.format(factor=2))
        (flow.folder("sales") / "1.json").rename(flow.home / "1.json")
        taken["rebuild of lost input"] = shop.decide("rebuild")
        accepted = ("rebuild", "--accept-loss", "--yes")
        taken["rebuild"] = shop.decide(*accepted, factor=2, without=["6.json"])
    return taken


@pytest.mark.parametrize("command", ["reject", "reinstate", "redo", "rebuild"])
def test_a_decision_leaves_the_tables_that_its_input_makes(
    decisions: dict[str, Decision], command: str
) -> None:
    decision = decisions[command]
    assert decision.answer.exit_code == ExitCode.DONE, decision.answer
    assert decision.tables.rows == decision.expected.rows
    assert decision.tables.rejected == decision.expected.rejected
    shown = decision.answer.json
    assert (shown["pipeline"], shown["outcome"]) == ("flow", "done")
    assert (shown["request"]["role"], shown["request"]["by"]) == (command, "Ada")
    assert (shown["reports"][-1]["step"], shown["reports"][-1]["outcome"]) == ("publish", "done")


@pytest.mark.remedy("Held")
def test_a_rejected_increment_is_passed_over_and_what_waited_goes_out(
    decisions: dict[str, Decision],
) -> None:
    passed_over, waited = decisions["reject"].events
    assert (passed_over.kind, passed_over.increment, passed_over.rows) == ("reject", 3, 0)
    assert passed_over.rejection is not None
    assert passed_over.rejection["by"] == "Ada"
    assert (waited.kind, waited.increment, waited.recomputation) == ("increment", 4, None)
    steps = [report["step"] for report in decisions["reject"].answer.json["reports"]]
    assert steps == ["doctor", "decide", "ingest", "gate", "publish"]


def test_a_reinstated_increment_is_added_and_takes_no_row_away(
    decisions: dict[str, Decision],
) -> None:
    (event,) = decisions["reinstate"].events
    assert event.kind == "swap"
    assert event.recomputation is not None
    assert (event.recomputation.kind, event.recomputation.reinstates) == ("reinstate", (3,))
    assert event.recomputation.partitions is None
    assert (event.rows, event.rejected) == (1, 2)


def test_a_redo_takes_the_place_of_what_was_held_and_leaves_a_file_out(
    decisions: dict[str, Decision],
) -> None:
    (event,) = decisions["redo"].events
    assert event.kind == "increment"
    assert event.recomputation is not None
    assert event.recomputation.kind == "redo"
    assert event.recomputation.supersedes == (6, 7)
    assert [Path(file.path).name for file in event.recomputation.excludes] == ["6.json"]
    assert event.recomputation.by == "Ada"


def test_a_rebuild_loses_input_only_where_a_person_accepts_it(
    decisions: dict[str, Decision],
) -> None:
    refused = decisions["rebuild of lost input"]
    assert refused.answer.exit_code == ExitCode.REFUSED
    assert refused.answer.json["reports"][-1]["error"]["code"] == "InputLost"
    assert refused.tables == decisions["redo"].tables
    assert refused.events == []


def test_a_rebuilt_generation_replaces_the_table(decisions: dict[str, Decision]) -> None:
    (event,) = decisions["rebuild"].events
    assert event.kind == "replace"
    assert event.recomputation is not None
    assert event.recomputation.kind == "rebuild"
    facts = {
        report["step"]: report["facts"] for report in decisions["rebuild"].answer.json["reports"]
    }
    assert facts["ingest"]["generation"] == event.generation
