"""A spec's settings for Spark hold no secret; settings that only speak of secrets are fine."""

from __future__ import annotations

import json

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError


def spec(name: str, value: str | bool | int) -> str:
    return minimal(f"spark: {{conf: {json.dumps({name: value})}}}\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.hadoop.fs.s3a.secret.key", "abc"),
        ("spark.hadoop.fs.s3a.access.key", "abc"),
        ("spark.hadoop.fs.azure.account.key.mill.dfs.core.windows.net", "abc"),
        ("spark.authenticate.secret", "abc"),
        ("spark.ssl.keyStorePassword", "abc"),
        ("spark.kubernetes.authenticate.oauthToken", "abc"),
        ("spark.hadoop.fs.oss.credential", "abc"),
        ("spark.sql.catalog.mill.url", "jdbc:postgresql://ann:abc@host/mill"),
        ("spark.driver.extraJavaOptions", "-Xss4m -Djavax.net.ssl.keyStorePassword=abc"),
    ],
)
def test_a_secret_is_refused_with_its_name_and_not_its_value(name: str, value: str) -> None:
    with pytest.raises(SpecError, match=r"spark-defaults\.conf") as refused:
        parse(spec(name, value))
    assert refused.value.field == f"spark.conf.{name}"
    assert "abc" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.hadoop.fs.s3a.aws.credentials.provider", "org.example.Provider"),
        ("spark.security.credentials.hive.enabled", False),
        ("spark.kubernetes.authenticate.oauthTokenFile", "/run/token"),
        ("spark.authenticate.secret.file", "/run/secret"),
        ("spark.hadoop.fs.s3a.endpoint", "http://store:9000"),
        ("spark.redaction.regex", "(?i)secret|password|token"),
        ("spark.executor.memory", "2g"),
        ("spark.authenticate.secretBitLength", 256),
    ],
)
def test_a_setting_that_only_speaks_of_secrets_is_fine(name: str, value: str | bool | int) -> None:
    assert parse(spec(name, value)).spark.conf == {name: value}
