"""Hadoop's files of this machine, by our file system and by Hadoop's own: they are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.local_files import PACKAGE, SETTINGS, set_modes_in_process

NAMES = ("plain", "with space", "a%3Ab", "Zürich")


class Files:
    """A folder, and both of Hadoop's interfaces to files, as one configuration gives them."""

    def __init__(self, jvm: Any, conf: Any, home: Path) -> None:
        self._jvm, self._hadoop, self.home = jvm, jvm.org.apache.hadoop, home
        home.mkdir()
        root = jvm.java.net.URI("file:///")
        self.files = self._hadoop.fs.FileSystem.newInstance(root, conf)
        self.context = self._hadoop.fs.FileContext.getFileContext(root, conf)
        checkpointing = jvm.org.apache.spark.sql.execution.streaming.checkpointing
        self.checkpoint = checkpointing.CheckpointFileManager.create(self.at(""), conf)

    def at(self, name: str) -> Any:
        return self._hadoop.fs.Path(self.home.as_uri() + "/", f"./{name}" if name else ".")

    def mode(self, number: int) -> Any:
        return self._hadoop.fs.permission.FsPermission(f"{number:04o}")

    def put(self, name: str, content: str, *, overwrite: bool = False) -> None:
        """Write a file of a checkpoint, which takes its name when it is whole."""
        self.checkpoint.mkdirs(self.at(str(Path(name).parent)))
        stream = self.checkpoint.createAtomic(self.at(name), overwrite)
        stream.write(bytearray(content.encode()))
        stream.close()

    def found(self) -> dict[str, tuple[str, str]]:
        """The mode and the group of whatever is in the folder, but for drafts' random names."""
        return {
            str(path.relative_to(self.home)): (oct(path.lstat().st_mode), path.group())
            for path in sorted(self.home.rglob("*"))
            if not path.name.endswith((".tmp", ".tmp.crc"))
        }


def in_folders(at: Files) -> None:
    at.home.chmod(0o2750)
    at.files.mkdirs(at.at("table/day=1"))
    at.context.mkdir(at.at("offsets/deep"), None, True)
    at.checkpoint.mkdirs(at.at("commits"))
    at.files.mkdirs(at.at("open"), at.mode(0o1777))


def in_files(at: Files) -> None:
    at.home.chmod(0o2750)
    for name in NAMES:
        at.files.create(at.at(name)).close()
        at.put(f"log/{name}", name)
    at.files.create(at.at("own"), at.mode(0o600), True, 4096, 1, 1 << 20, None).close()


def by_changes(at: Files) -> None:
    for name, mode in (("file", 0o755), ("folder", 0o1770), ("folder", 0o755)):
        path = at.home / name
        if name == "file":
            path.touch()
        else:
            path.mkdir(exist_ok=True)
            path.chmod(path.stat().st_mode | 0o6000)
        at.files.setPermission(at.at(name), at.mode(mode))
        at.context.setPermission(at.at(name), at.mode(mode))
    (at.home / "aim").touch(0o600)
    (at.home / "link").symlink_to("aim")
    at.files.setPermission(at.at("link"), at.mode(0o640))


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path) -> tuple[Files, Files]:
    """Ours, and Hadoop's own."""
    set_modes_in_process(spark)
    jvm: Any = spark._jvm
    configurations = []
    for own in (False, True):
        conf = jvm.org.apache.hadoop.conf.Configuration(
            spark.sparkContext._jsc.hadoopConfiguration()
        )
        conf.set("fs.permissions.umask-mode", "027")
        if own:
            conf.set("fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem")
            conf.set("fs.AbstractFileSystem.file.impl", f"{PACKAGE}.LocalFs")
        configurations.append(conf)
    ours, hadoops = configurations
    return Files(jvm, ours, tmp_path / "ours"), Files(jvm, hadoops, tmp_path / "hadoop")


@pytest.mark.parametrize("write", [in_folders, in_files, by_changes])
def test_files_and_folders_have_the_modes_and_the_group_that_hadoop_gives_them(
    both: tuple[Files, Files], write: Callable[[Files], None]
) -> None:
    for files in both:
        write(files)
    ours, hadoops = (files.found() for files in both)
    assert ours == hadoops
    assert ours


def test_a_file_of_a_checkpoint_takes_the_place_of_another_only_where_it_may(
    both: tuple[Files, Files],
) -> None:
    for files in both:
        files.put("offsets/0", "first")
        with pytest.raises(Py4JJavaError) as refused:
            files.put("offsets/0", "second")
        kind = refused.value.java_exception.getClass().getSimpleName()
        assert kind == "FileAlreadyExistsException"
        assert (files.home / "offsets/0").read_text() == "first"
        files.put("offsets/0", "third", overwrite=True)
        assert (files.home / "offsets/0").read_text() == "third"
        # Its checksum is that of the third.
        stream = files.checkpoint.open(files.at("offsets/0"))
        assert stream.readAllBytes().decode() == "third"
        stream.close()
        assert files.checkpoint.isLocal()


def test_links_and_what_is_not_there_are_told_as_by_hadoop(both: tuple[Files, Files]) -> None:
    told = []
    for files in both:
        (files.home / "file").write_text("four")
        (files.home / "link").symlink_to("file")
        (files.home / "to nowhere").symlink_to("gone")
        seen: list[Any] = []
        for name in ("file", "link", "to nowhere", "gone"):
            for one in (files.files, files.context):
                try:
                    status = one.getFileLinkStatus(files.at(name))
                    seen.append((name, status.isSymlink(), status.getLen()))
                except Py4JJavaError as error:
                    seen.append((name, error.java_exception.getClass().getName()))
        for one in (files.files, files.context):
            with pytest.raises(Py4JJavaError) as failed:
                one.setPermission(files.at("gone"), files.mode(0o640))
            seen.append(failed.value.java_exception.getClass().getName())
        told.append(seen)
    assert told[0] == told[1]


def test_a_file_system_that_the_user_chose_stays(spark: SparkSession) -> None:
    set_modes_in_process(spark)
    conf: Any = spark.sparkContext._jsc.hadoopConfiguration()
    before = {key: conf.get(key) for key in SETTINGS}
    bare = "org.apache.hadoop.fs.RawLocalFileSystem"
    conf.set("fs.file.impl", bare)
    conf.set("fs.AbstractFileSystem.file.impl", f"{PACKAGE}.LocalFs")
    try:
        set_modes_in_process(spark)
        assert conf.get("fs.file.impl") == bare
        assert conf.get("fs.AbstractFileSystem.file.impl") == f"{PACKAGE}.LocalFs"
    finally:
        for key, value in before.items():
            conf.set(key, value)
