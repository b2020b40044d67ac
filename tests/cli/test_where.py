"""`tidemill where` knows every file that a committed batch read or wrote."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.generation_builder import rebuilt
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def past(history: History) -> None:
    history.batch(rows(1, 2), [reject("bad")], inputs=[history.arrive("1.csv")])
    history.judge(history.seal().increment)
    history.publish()
    history.batch(rows(3), inputs=[history.arrive("2.csv")])
    history.judge(history.seal().increment, "held", NOON)
    history.batch(rows(4), inputs=[history.arrive("3.csv")])


def test_an_input_file_leads_to_its_published_version(tidemill: Tidemill, history: History) -> None:
    (found,) = tidemill("where", str(history.inputs / "1.csv"), "--json").json

    assert found["file"] == str(history.inputs / "1.csv")
    assert (found["pipeline"], found["generation"], found["batch"]) == ("orders", "live-0001", 0)
    assert (found["role"], found["run_id"]) == ("input", "ingest")
    increment = found["increment"]
    assert (increment["increment"], increment["verdict"]) == (1, "passed")
    assert (increment["state"], increment["version"]) == ("published", 0)


def test_a_file_of_a_held_increment_says_why(tidemill: Tidemill, history: History) -> None:
    (found,) = tidemill("where", str(history.inputs / "2.csv"), "--json").json

    increment = found["increment"]
    assert (increment["state"], increment["verdict"]) == ("held", "held")
    assert increment["reasons"] == ["bad"]
    assert increment["version"] is None


def test_a_file_whose_batch_is_not_sealed_has_no_increment(
    tidemill: Tidemill, history: History
) -> None:
    (found,) = tidemill("where", str(history.inputs / "3.csv"), "--json").json

    assert (found["batch"], found["increment"]) == (2, None)


def test_an_output_file_says_what_it_holds(tidemill: Tidemill, history: History) -> None:
    good, bad = history.files(0)

    (of_good,) = tidemill("where", str(good), "--json").json
    (of_bad,) = tidemill("where", str(bad), "--json").json

    assert (of_good["role"], of_good["rows"], of_good["rejected"]) == ("output", 2, False)
    assert (of_bad["role"], of_bad["rows"], of_bad["rejected"]) == ("output", 1, True)
    assert of_good["increment"]["version"] == 0


def test_a_file_that_a_rebuild_replaced_is_no_longer_in_the_table(
    tidemill: Tidemill, history: History
) -> None:
    (before, *_) = history.files(0)
    assert tidemill("where", str(before), "--json").json[0]["in_table"] is True

    rebuilt(history, rows(1))
    history.publish()

    (found,) = tidemill("where", str(before), "--json").json
    assert (found["increment"]["version"], found["in_table"]) == (0, False)
    assert "no longer" in tidemill("where", str(before)).stdout


@pytest.mark.parametrize("folder", ["", "in", "elsewhere"])
def test_a_file_is_known_by_every_way_to_name_it(
    tidemill: Tidemill, history: History, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (history.home / "elsewhere").mkdir()
    (history.home / "link").symlink_to(history.inputs)
    monkeypatch.chdir(history.home / folder)
    names = {
        "": ["in/1.csv", "./in/../in/1.csv", "link/1.csv", str(history.home / "link/1.csv")],
        "in": ["1.csv", "../in/1.csv"],
        # An ending of the path, for what was copied out of a log.
        "elsewhere": ["1.csv", "in/1.csv", (history.inputs / "1.csv").as_uri()],
    }[folder]

    for name in [*names, "file:" + str(history.inputs / "1.csv")]:
        assert [one["batch"] for one in tidemill("where", name, "--json").json] == [0], name


def test_a_path_as_the_tables_log_has_it_is_enough(tidemill: Tidemill, history: History) -> None:
    (file,) = history.files(1)

    (found,) = tidemill("where", str(file.relative_to(history.layout.table)), "--json").json

    assert (found["file"], found["batch"]) == (str(file), 1)


def test_a_file_that_nobody_read_is_wrong_usage(tidemill: Tidemill, history: History) -> None:
    for name in ("4.csv", str(history.home / "elsewhere" / "1.csv"), "sv"):
        answer = tidemill("where", name, "--json")
        assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "UnknownFile"), name
        assert answer.json["data"]["uncommitted"] is False


def test_what_a_dead_driver_left_in_the_sink_is_told_apart(
    tidemill: Tidemill, history: History
) -> None:
    file = history.files(0)[0].with_name("part-00000-never.snappy.parquet")
    file.write_bytes(b"")

    answer = tidemill("where", str(file), "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "UnknownFile")
    assert answer.json["data"]["uncommitted"] is True


def test_a_file_that_spark_committed_and_the_ledger_lacks_is_not_called_lost(
    tidemill: Tidemill, history: History
) -> None:
    history.batch(rows(5), commit=False)
    file = history.sink / "day=2024-01-01" / "part-00000-0003.snappy.parquet"
    assert file.exists()

    answer = tidemill("where", str(file), "--json")

    assert answer.exit_code == ExitCode.USAGE
    assert answer.json["data"]["uncommitted"] is False


def test_people_read_it_line_by_line(tidemill: Tidemill, history: History) -> None:
    shown = tidemill("where", "2.csv").stdout.splitlines()

    assert shown[0] == str(history.inputs / "2.csv")
    assert dict(line.split(maxsplit=1) for line in shown[1:]) == {
        "pipeline": "orders",
        "batch": "1 of live-0001",
        "run": "ingest",
        "increment": "000002, held since 2026-03-01 12:00 UTC",
        "verdict": "held",
        "reason": "bad",
    }


def test_a_root_without_pipelines_knows_no_file(
    tidemill: Tidemill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMILL_ROOT", str(tmp_path / "not-there"))

    assert tidemill("where", "1.csv").exit_code == ExitCode.USAGE
