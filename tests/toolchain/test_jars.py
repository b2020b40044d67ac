"""The lock of the jars, and how they are fetched: from a small repository of our own on disk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from tidemill.contract.errors import UsageError
from tidemill.toolchain import jars
from tidemill.toolchain.ivy import JarsUnresolved, pyspark_jars
from tidemill.toolchain.jar_lock import read_lock, write_lock
from tidemill.toolchain.jars import JarsMissing, WrongHash, all_sets, jars_of, resolve

SETTINGS = """\
<ivysettings>
  <settings defaultResolver="disk"/>
  <resolvers>
    <filesystem name="disk" m2compatible="true">
      <ivy pattern="{disk}/[module]-[revision].pom"/>
      <artifact pattern="{disk}/[artifact]-[revision](-[classifier]).[ext]"/>
    </filesystem>
  </resolvers>
</ivysettings>
"""
POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.mill</groupId><artifactId>{name}</artifactId><version>{version}</version>
  <dependencies>{needs}</dependencies>
</project>
"""
NEEDS = """\
<dependency>
  <groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
</dependency>
"""
LOCK = """\
# Jars of the mill.
[wheel]
# It turns.
- pyspark
- org.mill:rust
org.mill:wheel:2.0 -

[stone]
org.mill:stone:1.0 -
org.mill:stone:1.0:dust -
"""
TEST_SERVERS = ("broker", "postgres", "mariadb", "mysql", "s3", "iceberg_rest")


class Disk:
    """A repository on disk, the lock of what it holds, and where its jars go.

    Args:
        home: An empty folder.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.lock = home / "jars.lock"
        settings = home / "ivysettings.xml"
        settings.write_text(SETTINGS.format(disk=home))
        self.environ = {
            "TIDEMILL_IVY_SETTINGS": str(settings),
            "TIDEMILL_JARS": str(home / "jars"),
            "PATH": "/usr/bin:/bin",
        }

    def add(self, name: str, version: str, *needs: str) -> None:
        """A jar that needs others, each as `group:artifact:version`."""
        parts = (need.split(":") for need in needs)
        asked = "".join(NEEDS.format(group=g, name=n, version=v) for g, n, v in parts)
        pom = POM.format(name=name, version=version, needs=asked)
        self.home.joinpath(f"{name}-{version}.pom").write_text(pom)
        self.home.joinpath(f"{name}-{version}.jar").write_text(f"{name} {version}")

    def add_classified(self, name: str, version: str, classifier: str) -> None:
        """A further jar of a module."""
        path = self.home / f"{name}-{version}-{classifier}.jar"
        path.write_text(f"{name} {version} {classifier}")


def a_disk(home: Path) -> Disk:
    """With a wheel that needs an axle and what Spark has; the axle rusts. And a stone with dust."""
    disk = Disk(home)
    scala = next(pyspark_jars().glob("scala-library-*.jar")).stem.removeprefix("scala-library-")
    disk.add("wheel", "2.0", "org.mill:axle:1.0", f"org.scala-lang:scala-library:{scala}")
    disk.add("axle", "1.0", "org.mill:rust:1.0")
    disk.add("stone", "1.0")
    disk.add_classified("stone", "1.0", "dust")
    return disk


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, child_jvm: Path) -> str:
    """The lock as Ivy finds it."""
    disk = a_disk(tmp_path_factory.mktemp("locked"))
    return write_lock(LOCK, ["wheel", "stone"], disk.environ)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locked: str) -> Disk:
    disk = a_disk(tmp_path)
    disk.lock.write_text(locked)
    monkeypatch.setattr(jars, "LOCK", disk.lock)
    return disk


def names(locked: Mapping[str, tuple[jars.Jar, ...]]) -> dict[str, list[str]]:
    return {name: [jar.name for jar in of_set] for name, of_set in locked.items()}


def test_a_lock_names_what_comes_along_and_not_what_spark_has_or_is_left_out(locked: str) -> None:
    sets = read_lock(locked)
    assert names(sets)["wheel"] == ["wheel-2.0.jar", "axle-1.0.jar"]
    assert [jar.asked_for for jar in sets["wheel"]] == [True, False]
    assert sets["wheel"][1].sha256 == hashlib.sha256(b"axle 1.0").hexdigest()


def test_further_jars_of_a_module_are_locked_beside_its_main_jar(locked: str) -> None:
    main, further = read_lock(locked)["stone"]
    assert (main.name, further.name) == ("stone-1.0.jar", "stone-1.0-dust.jar")
    assert further.sha256 == hashlib.sha256(b"stone 1.0 dust").hexdigest()


def test_locking_again_changes_nothing_and_keeps_comments(disk: Disk, locked: str) -> None:
    assert "# It turns." in locked
    assert write_lock(locked, ["wheel"], disk.environ) == locked


def test_jars_are_fetched_once_and_checked(disk: Disk) -> None:
    said: list[str] = []
    fetched = resolve(["wheel", "stone"], disk.environ, said.append)
    wheel = ["wheel-2.0.jar", "axle-1.0.jar"]
    assert [path.name for path in fetched] == [*wheel, "stone-1.0.jar", "stone-1.0-dust.jar"]
    assert "4 of 4" in said[-1]
    assert jars_of("stone", environ=disk.environ) == fetched[2:]
    disk.home.joinpath("ivysettings.xml").unlink()
    assert resolve(["wheel", "stone"], disk.environ, said.append) == fetched
    assert "4 of 4" in said[-1]
    assert sorted(path.name for path in (disk.home / "jars").iterdir()) == sorted(
        path.name for path in fetched
    )


def test_a_jar_that_is_not_the_locked_one_is_not_kept(disk: Disk) -> None:
    disk.home.joinpath("axle-1.0.jar").write_text("something else")
    with pytest.raises(WrongHash) as refusal:
        resolve(["wheel"], disk.environ)
    assert refusal.value.module == "org.mill:axle:1.0"
    assert refusal.value.found == hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(JarsMissing) as missing:
        jars_of("wheel", environ=disk.environ)
    assert missing.value.missing == ["axle-1.0.jar"]
    assert not list((disk.home / "jars").glob("axle*"))


def test_a_jar_that_cannot_be_had_is_named(disk: Disk) -> None:
    disk.home.joinpath("stone-1.0.jar").unlink()
    disk.home.joinpath("stone-1.0.pom").unlink()
    with pytest.raises(JarsUnresolved) as failure:
        resolve(["wheel", "stone"], disk.environ)
    assert failure.value.missing == ["org.mill#stone;1.0"]


def test_jars_that_were_not_fetched_are_named_with_their_command(tmp_path: Path) -> None:
    with pytest.raises(JarsMissing) as missing:
        jars_of("avro", environ={"TIDEMILL_JARS": str(tmp_path)})
    assert [name.split("_")[0] for name in missing.value.missing] == ["spark-avro"]
    assert "python -m tidemill.toolchain.jars avro" in missing.value.remedy
    assert "make jars" in missing.value.remedy


def test_a_set_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refusal:
        jars_of("kafak")
    assert refusal.value.nearest == "kafka"


def test_every_jar_of_the_lock_is_pinned_and_has_a_name_of_its_own() -> None:
    locked = {jar for of_set in all_sets().values() for jar in of_set}
    assert {"kafka", "avro", "delta", "s3a", *TEST_SERVERS} == all_sets().keys()
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in locked)
    assert all(re.fullmatch(r"\d[\w.-]*", jar.module.version) for jar in locked)
    assert len({jar.name for jar in locked}) == len(locked)


def test_the_connector_is_of_the_minor_version_of_the_installed_spark() -> None:
    connector = next(jar for jar in all_sets()["kafka"] if "sql-kafka" in jar.name)
    assert connector.module.version.split(".")[:2] == version("pyspark").split(".")[:2]


def test_the_client_of_object_stores_is_of_the_hadoop_that_spark_brings() -> None:
    client = next(jar for jar in all_sets()["s3a"] if jar.module.artifact == "hadoop-aws")
    assert list(pyspark_jars().glob(f"hadoop-client-api-{client.module.version}.jar"))


def test_no_set_for_spark_holds_what_spark_ships() -> None:
    shipped = {re.sub(r"-\d.*", "", path.name) for path in pyspark_jars().glob("*.jar")}
    sets = all_sets()
    ours = {jar.module.artifact for name in ("kafka", "avro", "delta", "s3a") for jar in sets[name]}
    assert ours & shipped == set()


def test_a_lock_reads_as_it_is_written() -> None:
    digest = "0" * 64
    text = f"# x\n[a]\n- pyspark\ng:b:1  {digest}\n  g:c:2  {digest}\n\n[d]\ng:e:3  {digest}\n"
    assert names(read_lock(text)) == {"a": ["b-1.jar", "c-2.jar"], "d": ["e-3.jar"]}
