"""A `java` that records each start, to show which runs start none, and with what others do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tidemill.toolchain.java import java_home


class RecordingJava:
    """A JAVA_HOME whose `java` notes that it was started and becomes the real one.

    Args:
        home: An empty folder.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._record = home / "starts"
        self._arguments = home / "arguments"
        real = java_home(os.environ) / "bin" / "java"
        java = home / "bin" / "java"
        java.parent.mkdir()
        java.write_text(
            f'#!/bin/sh\necho start >> "{self._record}"\n'
            f'echo "$@" >> "{self._arguments}"\nexec "{real}" "$@"\n'
        )
        java.chmod(0o755)
        release = real.parents[1] / "release"
        if release.is_file():
            # Says which Java it is, so that it need not be started to find out.
            (home / "release").write_text(release.read_text())

    def starts(self) -> int:
        """How often a JVM was started."""
        return len(self._record.read_text().splitlines()) if self._record.exists() else 0

    def arguments(self) -> str:
        """What stood on the command lines of all starts."""
        return self._arguments.read_text()

    def first_in(self, environ: Mapping[str, str]) -> dict[str, str]:
        """An environment in which this is JAVA_HOME and first on the PATH."""
        path = os.pathsep.join((str(self.home / "bin"), environ.get("PATH", "")))
        return {**environ, "JAVA_HOME": str(self.home), "PATH": path}
