"""Fixtures for all tests."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.checkout import Demo, make_demo
from tests.support.histories.history_builder import History, reject, rows
from tests.support.shown_errors import expected_of, seen
from tests.support.spec_text import minimal, parse
from tests.support.tiers import Recorder, first_tier, marks_of, recorded, units_of
from tests.support.warehouse import WAREHOUSES, Warehouse
from tidemill.contract.objects.object_path import path_of
from tidemill.toolchain.class_archive import submit_options
from tidemill.toolchain.jars import jars_of
from tidemill.toolchain.java import java_home
from tidemill.toolchain.object_store_conf import store_conf
from tidemill.toolchain.spark_conf import QUICK_START, engine_conf

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark.sql import SparkSession

    from tests.servers.azurite import Azurite
    from tests.servers.glue import Glue
    from tests.servers.hive_metastore import HiveMetastore
    from tests.servers.iceberg_rest import IcebergRest
    from tests.servers.kafka import Broker
    from tests.servers.mariadb import MariaDB
    from tests.servers.mysql import MySql
    from tests.servers.postgres import Postgres
    from tests.servers.s3 import S3

STARTED = time.monotonic()
# The one session, and the settings that it began with.
SHARED = pytest.StashKey[tuple["SparkSession", dict[str, str | None]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tidemill")
    group.addoption("--tier", choices=("first", "rest"), help="what `make test` runs, or the rest")
    group.addoption("--minutes", type=float, help="skip what has not begun after so long")
    group.addoption("--record", action="store_true", help="write tests/durations.json")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(), "recorder")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test its marks, and sort the longest to the front."""
    units = units_of(items, recorded())
    tier = config.getoption("--tier")
    first = {unit.name for unit in first_tier(units)} if tier else set()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for unit in units:
        runs = not tier or (unit.name in first) == (tier == "first")
        (kept if runs else left_out).extend(unit.items)
        for item in unit.items:
            item.user_properties.append(("unit", unit.name))
            for mark in sorted(marks_of(item)):
                item.add_marker(mark)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that has no time left; the longest have come first."""
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - STARTED > minutes * 60:
        pytest.skip(f"no time left after {minutes:g} minutes")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that does not raise an error which it is said to show."""
    expected = expected_of(item)
    if not expected:
        return (yield)
    with seen() as names:
        yield
    missing = sorted(expected - names)
    assert not missing, f"it is said to show {', '.join(missing)}, and has not raised it"
    return None


@pytest.fixture(scope="session")
def spark(pytestconfig: pytest.Config) -> Iterator[SparkSession]:
    """One small Spark for all tests."""
    from pyspark.sql import SparkSession

    from tidemill.engine.spark_internals.class_lookups import keep_classes
    from tidemill.engine.spark_internals.local_files import set_modes_in_process
    from tidemill.engine.spark_internals.released_objects import release_together

    # Spark's Python workers would else take the PATH's `python3`, and its launcher the PATH's Java.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["JAVA_HOME"] = str(java_home(os.environ))
    os.environ.update(submit_options(os.environ, os.environ["JAVA_HOME"]))
    # With LC_ALL=C the JVM writes `?` for every other letter in the name of a partition.
    os.environ["LC_ALL"] = "C.UTF-8"
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tidemill tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .config("spark.sql.ansi.enabled", "true")
        # As in a small increment: most code runs a few times, and compiling it is half the cost.
        .config("spark.driver.extraJavaOptions", QUICK_START)
        # The pipelines of one process have more classes than the 100 that Spark keeps compiled.
        .config("spark.sql.codegen.cache.maxEntries", "2000")
        .config("spark.jars", ",".join(str(jar) for jar in jars_of("kafka", "avro", "s3a")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    keep_classes(session)
    set_modes_in_process(session)
    release_together(session)
    names = [*engine_conf(parse(minimal())), "spark.sql.streaming.stateStore.encodingFormat"]
    names = [name for name in names if session.conf.isModifiable(name)]
    # Spark lets them be set, though it does not know all of them by name.
    names += [n for n in store_conf(path_of("s3a://any/root"), {}) if ".hadoop." not in n]
    before = {name: session.conf.get(name, None) for name in names}
    pytestconfig.stash[SHARED] = (session, before)
    yield session
    del pytestconfig.stash[SHARED]
    session.stop()


@pytest.fixture(scope="session")
def child_jvm() -> Path:
    """The Java home, for tests that start a JVM in a process of its own."""
    return java_home(os.environ)


@pytest.fixture(scope="session")
def child_airflow(child_jvm: Path) -> Path:
    """The Java home, for tests that start an Airflow in processes of its own."""
    return child_jvm


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium; its driver occupies the event loop, so it ends with the module."""
    from tests.browser.chromium import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(autouse=True)
def settings_of_one_test(pytestconfig: pytest.Config) -> Iterator[None]:
    """What a step sets in the shared session goes with the test that ran it."""
    yield
    shared = pytestconfig.stash.get(SHARED, None)
    if shared is None:
        return
    from tidemill.engine.spark_internals.active_session import activate

    session, before = shared
    # Members of a group have sessions of their own, and Spark plans by the settings of the active.
    activate(session)
    for name, value in before.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)


@pytest.fixture(autouse=True)
def umask_of_one_test() -> Iterator[None]:
    """An operator that ran in this process has set that of its task."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """One Kafka for all tests that do not stop it; each keeps to topics of its own."""
    from tests.servers.kafka import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for all tests that do not stop it; each asks for a fresh database."""
    from tests.servers.postgres import Postgres

    with Postgres() as postgres:
        yield postgres


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """One S3 server for all tests that do not stop it; each makes a bucket of its own."""
    from tests.servers.s3 import S3

    with S3() as s3:
        yield s3


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    """One Azurite for all tests, where this machine has it; each makes a container of its own."""
    from tests.servers.azurite import Azurite, NoAzurite

    try:
        server = Azurite()
    except NoAzurite as reason:
        pytest.skip(str(reason))
    with server:
        yield server


@pytest.fixture(scope="session")
def iceberg_rest() -> Iterator[IcebergRest]:
    """One REST catalogue for all tests that do not stop it; each leaves it empty."""
    from tests.servers.iceberg_rest import IcebergRest

    with IcebergRest() as iceberg_rest:
        yield iceberg_rest


@pytest.fixture(scope="session")
def glue() -> Iterator[Glue]:
    """One server that speaks AWS Glue, for all tests; each leaves it empty."""
    from tests.servers.glue import Glue

    with Glue() as glue:
        yield glue


@pytest.fixture(scope="session")
def hive_metastore() -> Iterator[HiveMetastore]:
    """One Hive metastore for all tests that do not stop it; each has a database of its own."""
    from tests.servers.hive_metastore import HiveMetastore

    with HiveMetastore() as hive_metastore:
        yield hive_metastore


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """One MariaDB for all tests that do not stop it; each asks for a fresh database."""
    from tests.servers.mariadb import MariaDB

    with MariaDB() as mariadb:
        yield mariadb


@pytest.fixture(scope="session")
def mysql() -> Iterator[MySql]:
    """One MySQL for all tests that do not stop it; each asks for a fresh database.

    Without a C compiler the test is skipped, but never where CI runs it.
    """
    from tests.faults.library import NoCompiler
    from tests.servers.mysql import MySql

    try:
        server = MySql()
    except NoCompiler as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
    with server as mysql:
        yield mysql


@pytest.fixture(params=["postgres", "mariadb", "mysql"])
def warehouse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """An empty database on each of the servers, with its connection in the environment."""
    found = WAREHOUSES[request.param](request.getfixturevalue(request.param))
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", found.connection)
    return found


@pytest.fixture
def make_history(tmp_path: Path) -> Callable[..., History]:
    """Makes the history of one pipeline, by `History`'s arguments."""

    def make(**changes: Any) -> History:
        return History(tmp_path / "pipeline", **changes)

    return make


@pytest.fixture
def history(make_history: Callable[..., History]) -> History:
    """An empty history with the default columns, partitioned by day."""
    return make_history()


@pytest.fixture
def run(history: History) -> History:
    """Three batches, committed and in the ledger."""
    for number in range(3):
        history.batch(rows(number))
    return history


@pytest.fixture
def published(history: History) -> History:
    """Two increments, published; nothing else."""
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2))
    history.publish()
    return history


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """`make demo` as it ran in a clone."""
    return make_demo(tmp_path_factory.mktemp("clone") / "tidemill")
