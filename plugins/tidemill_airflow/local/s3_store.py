"""The S3 store of `docker-compose.yaml`, and of the tests: S3Proxy over a folder, as one process.

It comes from the jars of `jars.lock`, so that the compose file runs what the tests run.
"""

import argparse
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tidemill.toolchain.jars import jars_of
from tidemill.toolchain.java import java_home

# Without it every request fills pages.
QUIET = """\
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %-5p %c: %m%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"""
OPTIONS = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def command(
    folder: Path, endpoint: str, login: str, password: str, java: Path, jars: Sequence[Path]
) -> list[str]:
    """Write the settings of a store, for its owner alone, and give what starts it.

    Args:
        folder: Gets the settings; `buckets` in it has a folder for each bucket.
        endpoint: The address that it serves, such as `http://0.0.0.0:9000`.
        java: The home of a Java.
        jars: Those of the set `s3`.
    """
    buckets = folder / "buckets"
    buckets.mkdir(parents=True, exist_ok=True)
    settings = {
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.endpoint": endpoint,
        "s3proxy.identity": login,
        "s3proxy.credential": password,
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": buckets,
    }
    properties, logging = folder / "s3proxy.properties", folder / "logback.xml"
    properties.touch(mode=0o600)
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    logging.write_text(QUIET)
    options = [*OPTIONS, f"-Dlogback.configurationFile={logging}"]
    main = ["org.gaul.s3proxy.Main", "--properties", str(properties)]
    return [str(java / "bin" / "java"), *options, "-cp", os.pathsep.join(map(str, jars)), *main]


def answers(endpoint: str) -> bool:
    """Whether something serves an address."""
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", urlsplit(endpoint).port or 80)) == 0


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> None:
    """Become the server that `S3_ENDPOINT`, `S3_FOLDER`, `S3_BUCKET` and its login describe."""
    parser = argparse.ArgumentParser(prog="s3_store", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it serves")
    if parser.parse_args(argv).check:
        sys.exit(0 if answers(environ["S3_ENDPOINT"]) else 1)
    folder = Path(environ["S3_FOLDER"])
    (folder / "buckets" / environ["S3_BUCKET"]).mkdir(parents=True, exist_ok=True)
    login, password = environ["S3_LOGIN"], environ["S3_PASSWORD"]
    java = java_home(environ)
    words = command(folder, environ["S3_ENDPOINT"], login, password, java, jars_of("s3"))
    os.execv(words[0], words)  # noqa: S606 - the program is our own Java


if __name__ == "__main__":
    main()
