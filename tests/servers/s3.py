"""An S3 server: S3Proxy as a plain Java process, over a folder of the local disk.

It is a server that speaks S3's protocol over HTTP, checks signatures, puts on condition and in
parts; no double of one. Maven Central and PyPI have none that is nearer to Amazon's: moto is a mock
in Python, and MinIO is in neither.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from uuid import uuid4

import obstore
from obstore.store import S3Store

from tests.servers.ports import free_ports
from tests.servers.server import Server
from tidemill.toolchain.jars import resolve
from tidemill.toolchain.java import java_home
from tidemill_airflow.local.s3_store import answers, command

REGION = "eu-central-1"
LOGIN, PASSWORD = "tidemill", "a secret of the store"


class S3(Server):
    """A server; in a `with` statement it is up.

    Args:
        signed: Whether it checks signatures, which no proxy can change a header under.

    Attributes:
        endpoint: Its address.
        buckets: The folder that holds its buckets, each a folder of objects.
    """

    def __init__(self, *, signed: bool = True) -> None:
        (port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{port}"
        home = Path(tempfile.mkdtemp(prefix="tidemill-s3-"))
        self.buckets = home / "buckets"
        java, jars = java_home(os.environ), resolve(["s3"])
        words = command(home, self.endpoint, LOGIN, PASSWORD, java, jars)
        if not signed:
            settings = home / "s3proxy.properties"
            settings.write_text(settings.read_text().replace("aws-v2-or-v4", "none"))
        super().__init__(words, home)

    def answers(self) -> bool:
        return answers(self.endpoint)

    def connection_at(self, endpoint: str) -> str:
        """An Airflow connection to it, as JSON.

        Args:
            endpoint: Its own address, or that of a proxy before it.
        """
        extra = {"endpoint_url": endpoint, "region_name": REGION}
        given = {"conn_type": "aws", "login": LOGIN, "password": PASSWORD}
        return json.dumps({**given, "extra": json.dumps(extra)})

    def fresh_bucket(self) -> str:
        """A bucket that was not there before."""
        name = f"bucket-{uuid4().hex}"
        (self.buckets / name).mkdir()
        return name

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Put an object, as who delivers it does."""
        obstore.put(self._store(bucket), key, content)

    def objects(self, bucket: str) -> dict[str, bytes]:
        """Key -> content, of all objects of a bucket."""
        store = self._store(bucket)
        keys = [one["path"] for page in obstore.list(store) for one in page]
        return {key: bytes(obstore.get(store, key).bytes()) for key in keys}

    def delete(self, bucket: str, key: str) -> None:
        obstore.delete(self._store(bucket), key)

    def _store(self, bucket: str) -> S3Store:
        return S3Store(
            bucket,
            endpoint=self.endpoint,
            region=REGION,
            access_key_id=LOGIN,
            secret_access_key=PASSWORD,
            client_options={"allow_http": True},
        )
