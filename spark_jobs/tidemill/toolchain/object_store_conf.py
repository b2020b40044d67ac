"""Spark's settings and secrets for a root in an object store."""

import os
from collections.abc import Mapping
from pathlib import Path

from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.objects.root_connection import root_settings
from tidemill.toolchain.checkpoint_jar import MANAGER

CHECKPOINT_FILES = "spark.sql.streaming.checkpointFileManagerClass"
HADOOP = "org.apache.hadoop.fs.s3a"
CLOUD = "org.apache.spark.internal.io.cloud"
# Settings of the connection: their names in the client -> in S3A.
PLAIN = {"endpoint": "endpoint", "region": "endpoint.region"}
SECRET = {
    "access_key_id": "access.key",
    "secret_access_key": "secret.key",
    "session_token": "session.token",
}


def store_conf(root: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Spark's settings for a root, none of them secret; empty for one on a disk.

    Raises:
        ConnectionMissing: `TIDEMILL_ROOT_CONN_ID` names a connection that is not there.
    """
    if not isinstance(root, ObjectPath):
        return {}
    found = root_settings(environ)
    own = _as_s3a(found, PLAIN)
    if "endpoint" in own:
        # Servers other than Amazon's have no host name for each bucket.
        own["path.style.access"] = "true"
    if "access_key_id" in found:
        provider = "Temporary" if "session_token" in found else "Simple"
        own["aws.credentials.provider"] = f"{HADOOP}.{provider}AWSCredentialsProvider"
    # What a batch of `update` or `complete` writes is uploaded once, and never renamed.
    own["committer.name"] = "magic"
    own["create.conditional.enabled"] = "true"
    # Whatever the cluster's own settings say: with it a second driver would overwrite entries.
    own["create.performance"] = "false"
    return {
        # Spark's own managers rename, or take a put that failed for one that succeeded.
        CHECKPOINT_FILES: MANAGER,
        "spark.hadoop.fs.s3a.impl": f"{HADOOP}.S3AFileSystem",
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3a": (
            f"{HADOOP}.commit.S3ACommitterFactory"
        ),
        "spark.sql.sources.commitProtocolClass": f"{CLOUD}.PathOutputCommitProtocol",
        "spark.sql.parquet.output.committer.class": f"{CLOUD}.BindingParquetOutputCommitter",
        **_of_bucket(root, own),
    }


def store_secrets(root: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The login of a root's bucket as Spark's settings, which no command line may show.

    Raises:
        ConnectionMissing: `TIDEMILL_ROOT_CONN_ID` names a connection that is not there.
    """
    if not isinstance(root, ObjectPath):
        return {}
    return _of_bucket(root, _as_s3a(root_settings(environ), SECRET))


def _as_s3a(found: Mapping[str, object], names: Mapping[str, str]) -> dict[str, str]:
    """The settings that S3A has a name for among those given."""
    return {names[name]: str(found[name]) for name in names if name in found}


def _of_bucket(root: ObjectPath, own: Mapping[str, str]) -> dict[str, str]:
    """Settings for the root's bucket alone: a transform may read others with its own."""
    return {f"spark.hadoop.fs.s3a.bucket.{root.bucket}.{name}": own[name] for name in own}
