"""Every named block of the README and the pages runs as it stands, and a test asserts its results.

The tests are the chapters of one history, in one checkout.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import httpx
import psutil
import pytest
import yaml
from deltalake import DeltaTable

from tests.servers.kafka_client import Record
from tests.support.airflow.running_airflow import until
from tests.support.checkout import Demo, somebody, up
from tests.support.pages import BLOCKS, NAMES, PIPELINES, UNNAMED
from tests.support.reader_shell import Shell
from tests.support.spec_text import minimal, parse
from tidemill.cli.project.airflow_setup import CONNECTION
from tidemill.contract.project import PROJECTS, REPOSITORY, Project
from tidemill.contract.report import Step
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.load import load_spec
from tidemill.spec.root import ROOT
from tidemill.storage.root_identity import ROOT_ID
from tidemill_airflow.provider import get_provider_info
from tidemill_airflow.task_names import resolve_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.kafka import Broker
    from tests.servers.postgres import Postgres

# These two need nothing but themselves.
TESTED = {"fields", "sql"}
# The blocks of a page with a test of its own, tests/test_new_pipelines_page.py.
TESTED.update(("new-feed", "new", "new-says"))
# Specs, which tests/cli/test_page_blocks.py checks, and a root that it makes.
TESTED.update(("chain", "chain-limits", "fetch", "fetch-clean", "fetch-static"))
TESTED.update(("rollover", "sizes", "bucket-root"))
# The commands of tests/e2e/test_chains.py.
TESTED.add("chain-follow")
# What tests/publish/test_object_root.py reads with.
TESTED.add("bucket-read")
# The spec of tests/publish/delta/test_table_properties.py.
TESTED.add("table-properties")
# The command of tests/toolchain/test_class_archive.py.
TESTED.add("class-archive")
# The connection of tests/airflow/operators/test_connections.py and tests/cluster.
TESTED.add("cluster-connection")
# The blocks on a Hive metastore, which tests/publish/hive/test_page.py runs.
TESTED.update(("hive-target", "hive-connection", "hive-read"))
FILES = tuple(name for name in BLOCKS if "/" in name)
SUITE = "mills/expectations/suites/tides.json"
FEED = "station,level_cm,at\nDover,{level},2026-03-{day:02d} 00:00:00\n"

Test = Callable[..., None]


def shows(*names: str) -> Callable[[Test], Test]:
    """Names the blocks that a test runs."""
    TESTED.update(names)
    return lambda test: test


@pytest.fixture(scope="module")
def shell(
    demo: Demo, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shell]:
    """A shell in the clone in which the demo has run."""
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    # The clone shares the jars, which are 300 MB.
    environ = {**somebody(), "TIDEMILL_JARS": str(REPOSITORY / ".jars")}
    yield Shell(demo.checkout, tmp_path_factory.mktemp("shell"), environ)
    spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.fixture(scope="module")
def mills(demo: Demo) -> Path:
    """The reader's own folder, written as the README says."""
    for name in FILES:
        path = demo.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BLOCKS[name])
    return demo.checkout / "mills"


def delivered(demo: Demo) -> tuple[int, int]:
    """How many good and bad lines the demo's files hold, counted without us."""
    good = bad = 0
    for path in (demo.kept.input / "shop_orders").glob("*.csv"):
        with path.open(newline="") as file:
            _, *rows = csv.reader(file, escapechar="\\")
        for row in rows:
            fine = len(row) == 6 and row[0] and row[5] and re.fullmatch(r"-?\d+", row[3])
            good, bad = (good + 1, bad) if fine else (good, bad + 1)
    return good, bad


def published(demo: Demo, pipeline: str, which: str = "table") -> list[dict[str, Any]]:
    return DeltaTable(demo.kept.root / pipeline / which).to_pyarrow_table().to_pylist()


def deliver(demo: Demo, day: int, level: int) -> None:
    path = demo.checkout / "feed" / f"2026-03-{day:02d}.csv"
    path.with_suffix(".part").write_text(FEED.format(level=level, day=day))
    path.with_suffix(".part").replace(path)


@shows("demo", "demo-says")
def test_make_demo_says_what_the_readme_shows_and_publishes_what_was_delivered(demo: Demo) -> None:
    assert BLOCKS["demo"].strip() == "make demo"
    said = [line.strip() for line in demo.output.splitlines()]
    shown = BLOCKS["demo-says"].splitlines()
    assert [line for line in said if line in shown] == shown
    good, bad = delivered(demo)
    assert f"{good:,} rows published, {bad:,} rejected" in demo.output
    assert len(published(demo, "shop_orders")) == good > 0
    assert len(published(demo, "shop_orders", "rejected")) == bad > 0


@shows("shell")
def test_a_shell_shows_what_the_demo_left(shell: Shell, demo: Demo) -> None:
    ended = shell.run(BLOCKS["shell"])
    good, bad = delivered(demo)
    assert ended.commands == [(0, "status"), (0, "rows")]
    assert f"shop_orders: version 4, {good:,} rows in" in ended.output
    assert f"20 of {bad} rows" in ended.output


@shows("picture")
def test_the_picture_shows_the_four_tasks_in_order() -> None:
    words = re.findall(r"[a-z]+", BLOCKS["picture"].splitlines()[0])
    assert [word for word in words if word in get_args(Step)] == list(RunRequest().steps)


@shows(*FILES, "try")
def test_three_files_are_a_pipeline(shell: Shell, demo: Demo, mills: Path) -> None:
    ended = shell.run(BLOCKS["try"])
    assert ended.commands == [(0, "check"), (0, "preview"), (0, "run")]
    assert "No problems." in ended.output
    assert "1 rejected, of which 1" in ended.output
    levels = [(row["station"], row["level_m"]) for row in published(demo, "tides")]
    assert sorted(levels) == [
        ("Calais", Decimal("4.37")),
        ("Dover", Decimal("3.01")),
        ("Dover", Decimal("4.12")),
    ]
    (rejected,) = published(demo, "tides", "rejected")
    assert (rejected["reason"], rejected["record"]) == (
        "malformed",
        "Calais,n/a,2026-03-01 01:00:00",
    )


LIVE = [
    {"station": "Dover", "level_cm": 390, "at": "2026-03-05T00:00:00"},
    {"station": "Calais", "level_cm": 402, "at": "2026-03-05T00:00:00"},
    {"station": "Dover", "level_cm": 510, "at": "2026-03-05T01:00:00"},
]


@shows("live", "stream")
def test_records_reach_a_table_and_a_database(
    shell: Shell, demo: Demo, mills: Path, broker: Broker, postgres: Postgres
) -> None:
    database = postgres.fresh_database()
    block = BLOCKS["live"].replace("127.0.0.1:9092", broker.bootstrap)
    given = "postgres://mill:secret@127.0.0.1:5432/warehouse"
    assert given in block
    block = block.replace(given, postgres.dsn(database))
    broker.create_topic("tides")
    values = [json.dumps(reading) for reading in LIVE]
    broker.produce("tides", [Record(key=None, value=value) for value in values])
    ended = shell.run(block)
    assert ended.commands == [(0, "run"), (0, "sql")]
    assert re.search(r"Dover\W+5\.10", ended.output)
    with postgres.connect(database) as connection:
        rows = connection.execute('SELECT station, level_cm, "offset" FROM tides').fetchall()
    assert sorted(rows) == [("Calais", 402, 1), ("Dover", 390, 0), ("Dover", 510, 2)]
    assert [row["offset"] for row in published(demo, "tides_live")] == [0, 1, 2]

    late = json.dumps({**LIVE[0], "level_cm": 333})
    broker.produce("tides", [Record(key=None, value=late)])
    export = "".join(line + "\n" for line in block.splitlines() if line.startswith("export"))
    streamed = shell.run(export + BLOCKS["stream"])
    assert streamed.commands == [(0, "stream"), (0, "stream")]
    assert "333" in streamed.output


@shows("infer")
def test_a_sample_gives_a_schema_to_check(shell: Shell, mills: Path) -> None:
    ended = shell.run(BLOCKS["infer"])
    assert ended.commands == [(0, "schema")]
    assert "station" in ended.output
    assert "at timestamp" in ended.output


@shows("example", "late", "flush")
def test_windows_close_without_what_came_late_and_by_a_flush(shell: Shell, demo: Demo) -> None:
    ended = shell.run(BLOCKS["example"])
    assert ended.commands == [(0, "example"), (0, "run"), (0, "rows")]
    lines = [
        json.loads(line)
        for path in (demo.kept.input / "windowed_words").glob("0*.json")
        for line in path.read_text().splitlines()
    ]
    words = sum(len(re.findall(r"[^\W_]+", line["text"])) for line in lines)
    closed = published(demo, "windowed_words")
    assert len(closed) > 0

    late = shell.run(BLOCKS["late"])
    assert late.commands == [(0, "run"), (0, "late"), (0, "state")]
    # Each of its two words belonged to two windows.
    assert "4 of 4 late rows" in late.output
    assert "stateStoreSave" in late.output
    assert published(demo, "windowed_words") == closed

    flushed = shell.run(BLOCKS["flush"])
    assert flushed.commands == [(0, "flush"), (0, "run")]
    rows = published(demo, "windowed_words")
    assert len(rows) > len(closed)
    assert "late" not in {row["word"] for row in rows}
    # In two windows each; nothing of one file is late, and all four came at once.
    assert sum(row["count"] for row in rows) == 2 * words


@shows("chart-values")
def test_the_values_for_airflows_chart_name_what_tidemill_reads() -> None:
    values = yaml.safe_load(BLOCKS["chart-values"])
    given = {one["name"]: one["value"] for one in values["env"]}
    options = get_provider_info()["config"]["tidemill"]["options"]
    assert given.keys() <= {ROOT, ROOT_ID, PROJECTS} | {
        f"AIRFLOW__TIDEMILL__{option.upper()}" for option in options
    }
    (mount,) = values["volumeMounts"]
    assert mount["mountPath"] == given[ROOT]
    assert mount["name"] in {volume["name"] for volume in values["volumes"]}
    (secret,) = values["secret"]
    assert secret["envName"] == f"AIRFLOW_CONN_{CONNECTION.upper()}"


def test_the_spec_takes_the_fields_that_are_shown() -> None:
    text = minimal(replace={"event_time:\n  column: at\n": ""})
    spec = parse(text + BLOCKS["fields"])
    assert set(yaml.safe_load(BLOCKS["fields"])) <= spec.model_fields_set
    kinds = [static.kind for static in spec.statics.values()]
    assert kinds == ["file", "file", "table", "postgres", "batch"]


def test_the_sql_that_is_shown_is_that_of_the_pipeline() -> None:
    path = Project(REPOSITORY).transform("customer_hours")
    lines = path.read_text().splitlines(keepends=True)
    assert BLOCKS["sql"] == "".join(line for line in lines if not line.startswith("--"))


def test_a_pipeline_has_the_output_mode_that_is_told_of_it() -> None:
    shown = {name: mode for name, (mode, _) in PIPELINES.items()}
    assert len(shown) > 10
    modes = {name: load_spec(Project(REPOSITORY).spec(name)).output.mode for name in shown}
    assert shown == modes


@shows("read", "read-spark")
def test_four_engines_read_the_same_rows(
    demo: Demo, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMILL_ROOT", str(demo.kept.root))
    names: dict[str, Any] = {}
    for block in ("read", "read-spark"):
        exec(compile(BLOCKS[block], block, "exec"), names)  # noqa: S102 - the README's own
    pandas, in_spark = names["in_pandas"], names["orders"]
    assert len(pandas) == delivered(demo)[0]
    by_day = pandas.groupby("order_date").amount.sum().to_dict()
    assert len(by_day) >= 5
    assert dict(names["in_polars"].iter_rows()) == dict(names["in_duckdb"]) == by_day
    assert in_spark.columns == list(pandas.columns)
    rows = [tuple(row) for row in pandas[["order_id", "amount"]].itertuples(index=False)]
    assert sorted(map(tuple, in_spark.select("order_id", "amount").collect())) == sorted(rows)


@shows("hold")
def test_what_is_held_holds_back_what_follows(shell: Shell, demo: Demo, mills: Path) -> None:
    before = published(demo, "tides")
    second, third, where = BLOCKS["hold"].splitlines(keepends=True)
    deliver(demo, 2, 1620)
    held = shell.run(second)
    deliver(demo, 3, 433)
    waiting = shell.run(third + where)
    assert (held.commands, waiting.commands) == ([(3, "run")], [(3, "run"), (0, "where")])
    assert "increment 000002 is held" in held.output
    assert "increment 000003 waits behind" in waiting.output
    assert re.search(r"run +second\n +increment +000002, held since", waiting.output)
    assert published(demo, "tides") == before
    assert (demo.kept.root / "tides" / "docs" / "index.html").is_file()


@shows("release")
def test_a_release_lets_all_out_in_order(shell: Shell, demo: Demo) -> None:
    ended = shell.run(BLOCKS["release"])
    assert ended.commands == [(0, "release"), (0, "run")]
    history = DeltaTable(demo.kept.root / "tides" / "table").history()
    assert [entry["tidemill.increment"] for entry in reversed(history)] == [
        "000001",
        "000002",
        "000003",
    ]
    release = json.loads(history[1]["tidemill.release"])
    assert release["reason"] == "storm surge, confirmed by the harbour"
    assert sorted(row["level_cm"] for row in published(demo, "tides"))[-2:] == [437, 1620]


@shows("clear")
def test_after_the_rule_was_mended_the_same_increment_is_judged_again(
    shell: Shell, demo: Demo, mills: Path
) -> None:
    deliver(demo, 4, 1710)
    held = shell.run(BLOCKS["clear"])
    suite = demo.checkout / SUITE
    suite.write_text(suite.read_text().replace("1500", "2000"))
    cleared = shell.run(BLOCKS["clear"])
    assert (held.commands, cleared.commands) == ([(3, "run")], [(0, "run")])
    assert "publish done: increment 000004 in version 3" in cleared.output
    assert max(row["level_cm"] for row in published(demo, "tides")) == 1710


@shows("again")
def test_days_are_computed_again_and_others_keep_their_files(
    shell: Shell, demo: Demo, mills: Path
) -> None:
    transform = mills / "spark_jobs" / "transforms" / "tides.py"
    code = transform.read_text()
    transform.write_text(code.replace('("level_cm") / 100)', '("level_cm") / 100 - 0.25)'))
    before = {str(row["day"]): row["level_m"] for row in published(demo, "tides")}
    ended = shell.run(BLOCKS["again"])
    assert ended.commands == [(0, "plan"), (0, "backfill"), (0, "backfill"), (0, "requalify")]
    after = {str(row["day"]): row["level_m"] for row in published(demo, "tides")}
    quarter = Decimal("0.25")
    assert {day: before[day] - after[day] for day in before} == {
        "2026-03-01": 0,
        "2026-03-02": quarter,
        "2026-03-03": quarter,
        "2026-03-04": 0,
    }
    transform.write_text(code)


@shows("up")
def test_the_ui_shows_what_the_demo_left_and_stops_with_all_its_parts(
    demo: Demo, mills: Path
) -> None:
    mine = {"TIDEMILL_PROJECTS": str(mills), "TIDES": str(demo.checkout / "feed")}
    with up(demo, BLOCKS["up"], mine) as (make, url):
        assert url, (demo.kept.home / "up.log").read_text()[-2000:]
        api = httpx.Client(base_url=f"{url}/api/v2")
        # The demo's pipeline, and the user's own.
        shop = REPOSITORY / "dags" / "specs" / "shop_orders.yaml"
        files = [shop, *(mills / "dags" / "specs").glob("*.yaml")]
        specs = {path.stem: yaml.safe_load(path.read_text()) for path in files}
        assert {"shop_orders", "tides", "tides_live"} == specs.keys()
        gated = {name for name, spec in specs.items() if "sink" not in spec}
        dags = {*specs, *map(resolve_id, gated)}
        until(lambda: {d["dag_id"] for d in api.get("/dags").json()["dags"]} == dags, "DAGs")
        assert api.get("/importErrors").json()["total_entries"] == 0
        runs = api.get("/dags/shop_orders/dagRuns", params={"order_by": "run_after"}).json()
        states = [run["state"] for run in runs["dag_runs"]]
        assert states == ["success", "success", "failed", "success", "success"]
        held = runs["dag_runs"][2]["dag_run_id"]
        gate = api.get(f"/dags/shop_orders/dagRuns/{held}/taskInstances/gate/links").json()
        page = httpx.get(url + gate["extra_links"]["Data docs"])
        assert (page.status_code, "quantity" in page.text) == (200, True)
        parts = psutil.Process(make.pid).children(recursive=True)
        assert len(parts) > 4
    _, alive = psutil.wait_procs(parts, timeout=60)
    assert alive == []


PARSE = """
import json
from airflow import plugins_manager
from airflow.dag_processing.dagbag import DagBag

bag = DagBag()
report = bag.dags["orders_report"].timetable.asset_condition
print(json.dumps([
    sorted(bag.dags),
    bag.import_errors,
    [app["name"] for app in plugins_manager.get_fastapi_plugins()[0]],
    [alias.name for alias in report.objects],
]))
"""


@shows("existing-airflow", "dag-file", "consumer")
def test_an_airflow_that_already_runs_takes_it_in(demo: Demo, mills: Path, tmp_path: Path) -> None:
    home, root = tmp_path / "airflow", tmp_path / "root"
    (home / "dags").mkdir(parents=True)
    (home / "dags" / "orders_report.py").write_text(BLOCKS["consumer"])
    database = sqlite3.connect(home / "airflow.db")
    with sqlite3.connect(demo.kept.home / "airflow.db") as migrated:
        migrated.backup(database)
    database.execute("DELETE FROM slot_pool WHERE pool = 'tidemill'")
    database.commit()
    block = BLOCKS["existing-airflow"]
    places = {"/srv/tidemill": root, "/opt/mills": mills}
    for place, here in places.items():
        assert place in block
        block = block.replace(place, str(here))
    binaries = demo.checkout / ".venv" / "bin"
    shell = Shell(
        tmp_path,
        tmp_path,
        {
            **somebody(),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "PATH": f"{binaries}:{os.environ['PATH']}",
        },
    )

    assert shell.run(block).exit_code == 0
    assert (home / "dags" / "tidemill_pipelines.py").read_text().endswith(BLOCKS["dag-file"])
    parsed = shell.run(f"cd /\npython -c '{PARSE}'")

    slots = database.execute("SELECT slots FROM slot_pool WHERE pool = 'tidemill'").fetchall()
    assert slots == [(max(1, (os.cpu_count() or 1) // 2),)]
    connections = database.execute("SELECT conn_id, conn_type, host FROM connection").fetchall()
    assert ("tidemill_spark", "spark", "local[*]") in connections
    dags, errors, apps, aliases = json.loads(parsed.output.splitlines()[-1])
    ours = {"shop_orders", "tides", "tides_live"}
    assert dags == sorted({"orders_report", *ours, *map(resolve_id, ours)})
    assert errors == {}
    assert "Tidemill" in apps
    assert aliases == ["tidemill.shop_orders"]


def test_every_named_block_has_a_test_and_the_readme_no_other() -> None:
    assert [page for page, _ in UNNAMED if page == Path("README.md")] == []
    assert len(NAMES) == len(BLOCKS)
    assert BLOCKS.keys() == TESTED
