"""Kafka: one real broker in KRaft mode, as a plain Java process.

`make kafka` runs one on 127.0.0.1:9092 until Ctrl-C, and keeps its topics in `.tidemill/kafka`.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import NamedTuple

from tests.servers.certificate import make_certificate
from tests.servers.kafka_client import KafkaClient
from tests.servers.ports import free_ports, is_taken
from tests.servers.server import Server
from tidemill.contract.project import REPOSITORY
from tidemill.toolchain.jars import jars_of
from tidemill.toolchain.java import java_home

USER = "tidemill"
# It lives for minutes: neither the optimising compiler nor a parallel collector pays.
JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# Records of long ago stay; where a topic has a retention of its own, it acts within seconds.
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{ports.controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners={listeners},CONTROLLER://127.0.0.1:{ports.controller}
advertised.listeners={listeners}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\
SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={login}
listener.name.sasl_ssl.plain.sasl.jaas.config={login}
ssl.keystore.type=PEM
ssl.keystore.location={home}/server.pem
log.dirs={home}/data
auto.create.topics.enable=false
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=3000
metadata.max.idle.interval.ms=60000
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
log.retention.check.interval.ms=1000
log.initial.task.delay.ms=100
"""
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";'
USAGE = """\
Kafka is up at {broker.bootstrap} (Ctrl-C stops it); its topics are kept in {broker.home}.
As an Airflow connection:
    export AIRFLOW_CONN_TIDEMILL_KAFKA='{connection}'
At {broker.sasl_bootstrap}, and at {broker.sasl_ssl_bootstrap} with TLS, it asks for a password:
the one in server.properties there. Clients trust trusted.pem."""
LOG4J = """\
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c %m%n
"""


class Ports(NamedTuple):
    """Where each listener is."""

    plaintext: int
    controller: int
    sasl_plaintext: int
    ssl: int
    sasl_ssl: int


class Broker(KafkaClient, Server):
    """A broker with an administrator's tools; in a `with` statement it is up.

    Args:
        home: Where its data lies; where not given, a new folder that goes with it.
        ports: The ports of its listeners; free ones where not given.
        password: Of the user `tidemill` where it asks for one; made up where not given.

    Attributes:
        trusted: The certificate that clients of the encrypted listeners trust, a PEM file.
    """

    user = USER

    def __init__(
        self, home: Path | None = None, ports: Ports | None = None, password: str | None = None
    ) -> None:
        temporary = home is None
        self.home = home or Path(tempfile.mkdtemp(prefix="tidemill-kafka-"))
        self.ports = ports or Ports(*free_ports(len(Ports._fields)))
        self.password = password or secrets.token_urlsafe(24)
        self.trusted = make_certificate(self.home)
        properties = self._configure()
        command = broker_command(self.home, properties)
        KafkaClient.__init__(self, self.bootstrap)
        Server.__init__(self, command, self.home, temporary=temporary)

    @property
    def bootstrap(self) -> str:
        """The listener without any security."""
        return f"127.0.0.1:{self.ports.plaintext}"

    @property
    def sasl_bootstrap(self) -> str:
        """The listener that asks for a password: SASL_PLAINTEXT with the mechanism PLAIN."""
        return f"127.0.0.1:{self.ports.sasl_plaintext}"

    @property
    def ssl_bootstrap(self) -> str:
        """The encrypted listener, without a password."""
        return f"127.0.0.1:{self.ports.ssl}"

    @property
    def sasl_ssl_bootstrap(self) -> str:
        """The encrypted listener that asks for a password."""
        return f"127.0.0.1:{self.ports.sasl_ssl}"

    def settings(self, protocol: str = "PLAINTEXT") -> dict[str, str]:
        """What librdkafka's clients, and Airflow's connections, need for one of the listeners.

        Args:
            protocol: `PLAINTEXT`, `SASL_PLAINTEXT`, `SSL` or `SASL_SSL`.
        """
        port = getattr(self.ports, protocol.lower())
        found = {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": protocol}
        if protocol.startswith("SASL"):
            found |= {
                "sasl.mechanism": "PLAIN",
                "sasl.username": self.user,
                "sasl.password": self.password,
            }
        if protocol.endswith("SSL"):
            found |= {"ssl.ca.location": str(self.trusted)}
        return found

    def _configure(self) -> Path:
        protocols = ("plaintext", "sasl_plaintext", "ssl", "sasl_ssl")
        properties = self.home / "server.properties"
        properties.touch(mode=0o600)
        properties.write_text(
            PROPERTIES.format(
                ports=self.ports,
                listeners=",".join(
                    f"{name.upper()}://127.0.0.1:{getattr(self.ports, name)}" for name in protocols
                ),
                login=LOGIN.format(user=self.user, password=self.password),
                home=self.home,
            )
        )
        return properties


def kafka_java(home: Path, program: str, *arguments: str | Path) -> list[str | Path]:
    """The command of one of Kafka's programs.

    Args:
        home: A folder for the settings of its log.
        program: Its class.
        arguments: Its own.
    """
    log = home / "log4j2.properties"
    log.write_text(LOG4J)
    options = (*JVM, f"-Dlog4j2.configurationFile={log}")
    jars = os.pathsep.join(str(jar) for jar in jars_of("broker"))
    return [java_home(os.environ) / "bin" / "java", *options, "-cp", jars, program, *arguments]


def broker_command(home: Path, properties: Path) -> list[str | Path]:
    """The command of a broker, whose folder for data is made now if it is not there.

    Args:
        home: A folder, which holds that of the data as `data`.
        properties: The broker's.
    """
    if not (home / "data" / "meta.properties").exists():
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # As one argument: an id may begin with a hyphen, which would make it an option of its own.
        options = ("format", f"--cluster-id={cluster}", "--config", properties)
        make = kafka_java(home, "kafka.tools.StorageTool", *options)
        subprocess.run(make, check=True, capture_output=True)
    return kafka_java(home, "kafka.Kafka", properties)


def main() -> int:
    """Run a broker on Kafka's usual port until Ctrl-C."""
    home = REPOSITORY / ".tidemill" / "kafka"
    home.mkdir(parents=True, exist_ok=True)
    ports = Ports(9092, 9093, 9094, 9095, 9096)
    if taken := [port for port in ports if is_taken(port)]:
        print(f"Something listens on 127.0.0.1:{taken[0]} already: stop it.", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Broker(home, ports) as broker:
            print(USAGE.format(broker=broker, connection=connection(broker)), flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("\nStopped.")
    return 0


def connection(broker: Broker) -> str:
    """An Airflow connection to its plain listener."""
    settings = {"bootstrap.servers": broker.bootstrap}
    return json.dumps({"conn_type": "kafka", "extra": settings})


if __name__ == "__main__":
    sys.exit(main())
