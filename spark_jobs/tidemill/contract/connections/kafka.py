"""A Kafka connection of Airflow's, for both clients: librdkafka in Python and Java's in Spark.

Airflow keeps a Kafka connection's settings as JSON in its `extra`, under librdkafka's names, as its
own hooks and triggers hand them to confluent-kafka unchanged. Spark uses the Java client, which
names some of them otherwise. One connection serves both, and its secrets stay in memory.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.errors import UsageError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
# Both clients know these, under one name and with one meaning.
OF_BOTH = frozenset(
    {
        "bootstrap.servers",
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.ms",
        "sasl.kerberos.service.name",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
    }
)
SASL = frozenset({"sasl.mechanism", "sasl.username", "sasl.password"})
# A file, or the same as text.
TLS_FILES = {
    "ssl.ca.location": "ssl.ca.pem",
    "ssl.certificate.location": "ssl.certificate.pem",
    "ssl.key.location": "ssl.key.pem",
}
TLS = frozenset({*TLS_FILES, *TLS_FILES.values(), "ssl.endpoint.identification.algorithm"}) | {
    "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.password",
}
OF_LIBRDKAFKA = frozenset(
    {
        "broker.address.family",
        "broker.address.ttl",
        "log.connection.close",
        "log_level",
        "socket.keepalive.enable",
        "socket.nagle.disable",
        "socket.timeout.ms",
    }
)
OF_LIBRDKAFKA_BY_PREFIX = ("sasl.kerberos.", "sasl.oauthbearer.")
# Settings of the consumers in Airflow's triggers; our positions are in Spark's checkpoint.
OF_AIRFLOW = frozenset(
    {
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "group.id",
        "group.instance.id",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "partition.assignment.strategy",
        "session.timeout.ms",
    }
)
# Spark's own prefix; such a setting is handed to the Java client alone.
OF_JAVA = "kafka."
JAAS = "kafka.sasl.jaas.config"


class KafkaSettingRefused(UsageError):
    """A Kafka connection has an unknown setting, or two that clash; carries `key`, no value."""


def client_config(connection: Connection) -> dict[str, Any]:
    """A connection for confluent-kafka, under librdkafka's names.

    Args:
        connection: Servers and secrets as host, port, login and password, or all in its extra.

    Raises:
        KafkaSettingRefused: a setting is unknown, or two of them contradict each other.
    """
    settings = _settings(connection)
    return {name: value for name, value in settings.items() if not name.startswith(OF_JAVA)}


def spark_options(connection: Connection) -> dict[str, str]:
    """A connection for Spark's Kafka source and sink, under the Java client's names with `kafka.`.

    Certificates and keys are handed over as text, so that executors need no file of the driver's.

    Raises:
        KafkaSettingRefused: a setting is unknown or contradicts another, a file cannot be read, or
            the Java client has no counterpart of it.
    """
    settings = _settings(connection)
    options = {f"{OF_JAVA}{n}": _text(v) for n, v in settings.items() if n in OF_BOTH}
    if "sasl.mechanism" in settings:
        options["kafka.sasl.mechanism"] = settings["sasl.mechanism"]
        if settings["sasl.mechanism"] in LOGIN_MODULES:
            options[JAAS] = _jaas(settings)
    options |= _tls_options(settings)
    own = {name: _text(value) for name, value in settings.items() if name.startswith(OF_JAVA)}
    _refuse_first(own.keys() & options.keys(), "is set by other settings of the connection already")
    if "sasl.mechanism" in settings and JAAS not in options | own:
        known = ", ".join(LOGIN_MODULES)
        raise _refused(
            "sasl.mechanism", f"is not one of {known}, so that Spark needs '{JAAS}' beside it"
        )
    return {**options, **own}


def _settings(connection: Connection) -> dict[str, Any]:
    """Every setting under librdkafka's names, known and free of contradictions."""
    if connection.conn_type != "kafka":
        raise _refused("conn_type", "must be 'kafka'")
    if connection.schema_:
        raise _refused("schema", "means nothing to Kafka; remove it")
    try:
        found = {str(name): value for name, value in connection.settings.items()}
    except ValueError:
        # Without its cause, which holds the text.
        raise _refused("extra", "is not JSON") from None
    for name, value in found.items():
        _must_be_known(name)
        if not isinstance(value, str | int | float) or value == "":
            raise _refused(name, "is neither a text nor a number")
    settings = {name: value for name, value in found.items() if name not in OF_AIRFLOW}
    _give(settings, "sasl.mechanism", settings.pop("sasl.mechanisms", None), "sasl.mechanisms")
    _give(settings, "bootstrap.servers", _servers(connection), "host")
    _give(settings, "sasl.username", connection.login, "login")
    password = connection.password.get_secret_value() if connection.password else None
    _give(settings, "sasl.password", password, "password")
    if "bootstrap.servers" not in settings:
        raise _refused("bootstrap.servers", "is missing")
    protocol = str(settings.get("security.protocol", "PLAINTEXT")).upper()
    if protocol not in PROTOCOLS:
        raise _refused("security.protocol", f"must be one of {', '.join(PROTOCOLS)}")
    settings["security.protocol"] = protocol
    _check_sasl(settings)
    _check_tls(settings)
    return settings


def _must_be_known(name: str) -> None:
    known = OF_BOTH | SASL | TLS | OF_LIBRDKAFKA | OF_AIRFLOW | {"sasl.mechanisms"}
    if name in known or name.startswith((OF_JAVA, *OF_LIBRDKAFKA_BY_PREFIX)):
        return
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise _refused(name, f"is not a known setting{hint}")


def _give(settings: dict[str, Any], name: str, value: str | None, where: str) -> None:
    """Take a setting from its second place in the connection."""
    if value is None:
        return
    if settings.get(name, value) != value:
        raise _refused(name, f"differs from the connection's {where}")
    settings[name] = value


def _servers(connection: Connection) -> str | None:
    if not connection.host:
        if connection.port is not None:
            raise _refused("port", "is given without a host")
        return None
    port = connection.port or 9092
    return ",".join(_with_port(host.strip(), port) for host in connection.host.split(","))


def _with_port(host: str, port: int) -> str:
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    has_port = ":" in host.rpartition("]")[2]
    return host if has_port else f"{host}:{port}"


def _check_sasl(settings: dict[str, Any]) -> None:
    protocol = settings["security.protocol"]
    given = sorted(name for name in settings if name.startswith("sasl."))
    if not protocol.startswith("SASL"):
        _refuse_first(given, f"needs security.protocol SASL_SSL or SASL_PLAINTEXT, not {protocol}")
        return
    if "sasl.mechanism" not in settings:
        raise _refused("sasl.mechanism", f"is missing, which security.protocol {protocol} needs")
    mechanism = settings["sasl.mechanism"] = str(settings["sasl.mechanism"]).upper()
    credentials = ("sasl.username", "sasl.password")
    if mechanism in LOGIN_MODULES:
        missing = [name for name in credentials if name not in settings]
        _refuse_first(missing, f"is missing, which sasl.mechanism {mechanism} needs")
    else:
        unused = [name for name in credentials if name in settings]
        _refuse_first(unused, f"means nothing to sasl.mechanism {mechanism}")


def _check_tls(settings: Mapping[str, Any]) -> None:
    given = sorted(TLS & settings.keys())
    if not settings["security.protocol"].endswith("SSL"):
        _refuse_first(given, "needs security.protocol SSL or SASL_SSL")
        return
    for file, text in TLS_FILES.items():
        if file in settings and text in settings:
            raise _refused(file, f"and '{text}' exclude each other")
    certificate = {"ssl.certificate.location", "ssl.certificate.pem"} & settings.keys()
    key = {"ssl.key.location", "ssl.key.pem"} & settings.keys()
    if bool(certificate) != bool(key):
        raise _refused(min(certificate | key), "needs both a certificate and its key")
    if "ssl.keystore.location" in settings:
        _refuse_first(sorted(certificate | key), "and 'ssl.keystore.location' exclude each other")
    elif "ssl.keystore.password" in settings:
        raise _refused("ssl.keystore.password", "is given without ssl.keystore.location")


def _tls_options(settings: Mapping[str, Any]) -> dict[str, str]:
    options = {}
    authorities = _pem(settings, "ssl.ca.location")
    if authorities is not None:
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.certificates"] = authorities
    certificate, key = (_pem(settings, f"ssl.{part}.location") for part in ("certificate", "key"))
    if certificate is not None and key is not None:
        if "PRIVATE KEY-----" in key and not any(
            f"BEGIN {kind}PRIVATE KEY" in key for kind in ("", "ENCRYPTED ")
        ):
            raise _refused("ssl.key.location", "must be PKCS#8 for Java (`openssl pkcs8 -topk8`)")
        options["kafka.ssl.keystore.type"] = "PEM"
        options["kafka.ssl.keystore.certificate.chain"] = certificate
        options["kafka.ssl.keystore.key"] = key
    if "ssl.keystore.location" in settings:
        options["kafka.ssl.keystore.type"] = "PKCS12"
        options["kafka.ssl.keystore.location"] = _text(settings["ssl.keystore.location"])
    for name in ("ssl.key.password", "ssl.keystore.password"):
        if name in settings:
            options[f"{OF_JAVA}{name}"] = _text(settings[name])
    check = settings.get("ssl.endpoint.identification.algorithm")
    if check is not None:
        options["kafka.ssl.endpoint.identification.algorithm"] = "" if check == "none" else check
    return options


def _pem(settings: Mapping[str, Any], file: str) -> str | None:
    if file not in settings:
        text = settings.get(TLS_FILES[file])
        return None if text is None else str(text)
    try:
        return Path(settings[file]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise _refused(file, "names no readable PEM file, which Spark's client needs") from None


def _jaas(settings: Mapping[str, Any]) -> str:
    user, password = (_quoted(_text(settings[f"sasl.{n}"])) for n in ("username", "password"))
    module = LOGIN_MODULES[settings["sasl.mechanism"]]
    return f"{module} required username={user} password={password};"


def _quoted(text: str) -> str:
    """A text as Java's `StreamTokenizer`, by which JAAS is read, takes it from between quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " else f"\\{ord(c):03o}" for c in escaped) + '"'


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse_first(names: Any, why: str) -> None:
    for name in sorted(names):
        raise _refused(name, why)


def _refused(key: str, why: str) -> KafkaSettingRefused:
    return KafkaSettingRefused(
        f"The Kafka connection's '{key}' {why}.",
        remedy="Correct its environment variable AIRFLOW_CONN_… (its extra holds the settings of "
        "librdkafka as JSON).",
        remedy_in_airflow="Correct the connection in Airflow (its extra holds the settings of "
        "librdkafka as JSON).",
        key=key,
    )
