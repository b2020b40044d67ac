"""Spark's settings for a root in an object store: which there are, and which are secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.objects.object_path import path_of
from tidemill.contract.objects.root_connection import ROOT_CONNECTION
from tidemill.toolchain.checkpoint_jar import MANAGER
from tidemill.toolchain.jars import JarsMissing
from tidemill.toolchain.object_store_conf import (
    CHECKPOINT_FILES,
    store_conf,
    store_secrets,
)
from tidemill.toolchain.spark_conf import JARS, session_conf

ROOT = path_of("s3a://tides/root")
OWN = "spark.hadoop.fs.s3a.bucket.tides."


def environ(**extra: str) -> dict[str, str]:
    """A connection to a store, with what its extra says."""
    given = {"conn_type": "aws", "login": "a key", "password": "a word"}
    text = json.dumps({**given, "extra": json.dumps(extra)})
    return {ROOT_CONNECTION: "store", "AIRFLOW_CONN_STORE": text}


def test_a_root_on_a_disk_needs_no_settings_and_no_jars(tmp_path: Path) -> None:
    nothing = {"TIDEMILL_JARS": str(tmp_path), **environ()}
    assert store_conf(tmp_path, nothing) == store_secrets(tmp_path, nothing) == {}
    assert JARS not in session_conf(parse(minimal()), nothing, tmp_path)


def test_a_login_is_among_the_secrets_and_in_no_other_setting() -> None:
    given = environ(endpoint_url="http://store:9000", region_name="north", aws_session_token="tok")
    conf, secrets = store_conf(ROOT, given), store_secrets(ROOT, given)
    assert secrets == {
        f"{OWN}access.key": "a key",
        f"{OWN}secret.key": "a word",
        f"{OWN}session.token": "tok",
    }
    assert not {"a key", "a word", "tok"} & set(conf.values())
    assert conf[f"{OWN}endpoint"] == "http://store:9000"
    assert conf[f"{OWN}endpoint.region"] == "north"
    assert conf[f"{OWN}path.style.access"] == "true"
    assert conf[f"{OWN}aws.credentials.provider"].endswith(".TemporaryAWSCredentialsProvider")


def test_without_a_connection_the_machines_own_identity_is_used() -> None:
    conf = store_conf(ROOT, {})
    assert store_secrets(ROOT, {}) == {}
    assert f"{OWN}aws.credentials.provider" not in conf
    assert f"{OWN}path.style.access" not in conf
    assert conf[CHECKPOINT_FILES] == MANAGER


def test_a_root_in_a_bucket_needs_the_jars_of_its_client(tmp_path: Path) -> None:
    with pytest.raises(JarsMissing) as refusal:
        session_conf(parse(minimal()), {"TIDEMILL_JARS": str(tmp_path)}, ROOT)
    assert refusal.value.sets == ("s3a",)


def test_what_a_cluster_says_of_overwriting_does_not_count_below_a_root_in_a_bucket() -> None:
    assert store_conf(ROOT, {})[f"{OWN}create.performance"] == "false"
