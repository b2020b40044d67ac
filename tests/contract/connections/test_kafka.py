"""One Kafka connection serves Python's client and Spark's; no message shows a value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.kafka import (
    KafkaSettingRefused,
    client_config,
    spark_options,
)

SECRET = 'c"an\\ary\n;'
SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
SERVERS = {"bootstrap.servers": "a:9092,b:9093"}


def kafka(extra: dict[str, Any] | None = None, **given: Any) -> Connection:
    text = json.dumps({"conn_type": "kafka", "extra": extra or {}, **given})
    return connection("broker", {"AIRFLOW_CONN_BROKER": text})


def refused(extra: dict[str, Any] | None = None, **given: Any) -> str:
    """The key that both translations refuse."""
    keys = set()
    for translate in (client_config, spark_options):
        with pytest.raises(KafkaSettingRefused) as refusal:
            translate(kafka(extra, **given))
        assert SECRET not in str(refusal.value)
        assert refusal.value.__cause__ is None
        keys.add(refusal.value.key)
    (key,) = keys
    return str(key)


def test_servers_come_from_the_extra_as_airflows_own_hook_wants_them() -> None:
    assert client_config(kafka(SERVERS))["bootstrap.servers"] == "a:9092,b:9093"
    assert spark_options(kafka(SERVERS)) == {
        "kafka.bootstrap.servers": "a:9092,b:9093",
        "kafka.security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("given", "servers"),
    [
        ({"host": "a"}, "a:9092"),
        ({"host": "a", "port": 9099}, "a:9099"),
        ({"host": "a:1, b", "port": 2}, "a:1,b:2"),
        ({"host": "::1", "port": 9}, "[::1]:9"),
    ],
)
def test_servers_come_from_host_and_port(given: dict[str, Any], servers: str) -> None:
    assert client_config(kafka(**given))["bootstrap.servers"] == servers


def test_a_uri_is_as_good_as_json() -> None:
    uri = "kafka://me:p%22w@a:9094/?security.protocol=SASL_PLAINTEXT&sasl.mechanisms=SCRAM-SHA-512"
    config = client_config(connection("broker", {"AIRFLOW_CONN_BROKER": uri}))
    assert config == {
        "bootstrap.servers": "a:9094",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "me",
        "sasl.password": 'p"w',
    }


def test_login_and_password_become_a_quoted_jaas_line() -> None:
    options = spark_options(kafka(SASL, host="a", login="m e", password=SECRET))
    assert options["kafka.sasl.jaas.config"] == (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="m e" password="c\\"an\\\\ary\\012;";'
    )
    assert options["kafka.sasl.mechanism"] == "PLAIN"
    assert not [name for name in options if "password" in name or "username" in name]


def test_settings_of_airflows_own_consumers_are_left_to_them() -> None:
    extra = {**SERVERS, "group.id": "g", "auto.offset.reset": "earliest"}
    assert client_config(kafka(extra)) == client_config(kafka(SERVERS))
    assert spark_options(kafka(extra)) == spark_options(kafka(SERVERS))


def test_each_client_gets_what_only_it_knows() -> None:
    extra = {**SERVERS, "socket.timeout.ms": 5000, "kafka.request.timeout.ms": 7000}
    assert client_config(kafka(extra))["socket.timeout.ms"] == 5000
    assert "kafka.request.timeout.ms" not in client_config(kafka(extra))
    assert spark_options(kafka(extra))["kafka.request.timeout.ms"] == "7000"
    assert "kafka.socket.timeout.ms" not in spark_options(kafka(extra))


def test_certificates_are_handed_to_spark_as_text(tmp_path: Path) -> None:
    files = {part: tmp_path / f"{part}.pem" for part in ("ca", "certificate", "key")}
    for part, file in files.items():
        file.write_text(f"-----BEGIN PRIVATE KEY----- {part}")
    extra = {**SERVERS, "security.protocol": "ssl", "ssl.key.password": SECRET}
    extra |= {f"ssl.{part}.location": str(file) for part, file in files.items()}
    options = spark_options(kafka(extra))
    assert options["kafka.ssl.truststore.type"] == options["kafka.ssl.keystore.type"] == "PEM"
    assert options["kafka.ssl.truststore.certificates"].endswith("ca")
    assert options["kafka.ssl.keystore.certificate.chain"].endswith("certificate")
    assert options["kafka.ssl.keystore.key"].endswith("key")
    assert options["kafka.ssl.key.password"] == SECRET
    assert client_config(kafka(extra))["ssl.ca.location"] == str(files["ca"])


def test_a_key_that_java_cannot_read_is_refused_for_spark(tmp_path: Path) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----"
    extra = {**SERVERS, "security.protocol": "SSL", "ssl.certificate.pem": "c", "ssl.key.pem": key}
    assert client_config(kafka(extra))["ssl.key.pem"] == key
    with pytest.raises(KafkaSettingRefused):
        spark_options(kafka(extra))


def test_names_of_hosts_are_checked_unless_the_connection_says_none() -> None:
    extra = {**SERVERS, "security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"}
    assert spark_options(kafka(extra))["kafka.ssl.endpoint.identification.algorithm"] == ""


def test_kerberos_needs_a_login_of_each_clients_own() -> None:
    extra = {
        **SERVERS,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.keytab": "/k",
    }
    assert client_config(kafka(extra))["sasl.kerberos.keytab"] == "/k"
    with pytest.raises(KafkaSettingRefused) as refusal:
        spark_options(kafka(extra))
    assert refusal.value.key == "sasl.mechanism"
    jaas = {"kafka.sasl.jaas.config": "Krb5LoginModule required;"}
    assert spark_options(kafka({**extra, **jaas}))["kafka.sasl.mechanism"] == "GSSAPI"


@pytest.mark.parametrize(
    ("key", "extra", "given"),
    [
        ("conn_type", SERVERS, {"conn_type": "postgres"}),
        ("schema", SERVERS, {"schema": "x"}),
        ("bootstrap.servers", {}, {}),
        ("port", {}, {"port": 9092}),
        ("bootstrap.servers", SERVERS, {"host": "c"}),
        ("bootstrap.server", {"bootstrap.server": SECRET}, {}),
        ("client.id", {**SERVERS, "client.id": [SECRET]}, {}),
        ("security.protocol", {**SERVERS, "security.protocol": SECRET}, {}),
        ("sasl.password", SERVERS, {"password": SECRET}),
        ("sasl.mechanism", {**SERVERS, "security.protocol": "SASL_SSL"}, {"login": "me"}),
        ("sasl.mechanism", {**SERVERS, **SASL, "sasl.mechanisms": "GSSAPI"}, {}),
        ("sasl.password", {**SERVERS, **SASL}, {"login": "me"}),
        ("sasl.password", {**SERVERS, **SASL, "sasl.password": SECRET}, {"password": "other"}),
        ("ssl.ca.pem", {**SERVERS, "ssl.ca.pem": SECRET}, {}),
        (
            "ssl.ca.location",
            {**SERVERS, "security.protocol": "SSL", "ssl.ca.location": "/a", "ssl.ca.pem": SECRET},
            {},
        ),
        ("ssl.key.pem", {**SERVERS, "security.protocol": "SSL", "ssl.key.pem": SECRET}, {}),
        (
            "ssl.keystore.password",
            {**SERVERS, "security.protocol": "SSL", "ssl.keystore.password": SECRET},
            {},
        ),
    ],
)
def test_what_is_unknown_or_contradicts_is_refused_by_its_key(
    key: str, extra: dict[str, Any], given: dict[str, Any]
) -> None:
    assert refused(extra, **given) == key


def test_an_extra_that_is_no_json_is_refused() -> None:
    broken = Connection.model_validate({"conn_type": "kafka", "extra": "{" + SECRET})
    with pytest.raises(KafkaSettingRefused) as refusal:
        client_config(broken)
    assert refusal.value.key == "extra"


def test_spark_gets_no_setting_twice() -> None:
    extra = {**SASL, "kafka.sasl.jaas.config": SECRET}
    with pytest.raises(KafkaSettingRefused) as refusal:
        spark_options(kafka(extra, host="a", login="me", password="x"))
    assert refusal.value.key == "kafka.sasl.jaas.config"


def test_a_file_that_is_not_there_is_refused_for_spark() -> None:
    extra = {**SERVERS, "security.protocol": "SSL", "ssl.ca.location": "/nowhere"}
    with pytest.raises(KafkaSettingRefused) as refusal:
        spark_options(kafka(extra))
    assert refusal.value.key == "ssl.ca.location"
