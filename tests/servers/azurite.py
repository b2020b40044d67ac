"""Microsoft's emulator of Azure's object store, Azurite: a server in JavaScript, with its data in
memory. Its version is not locked; it is a program of this machine.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import secrets
import shutil
import tempfile
from email.utils import formatdate
from hashlib import sha256
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from uuid import uuid4

from tests.servers.ports import free_ports
from tests.servers.server import Server

ACCOUNT = "tidemill"
VERSION = "2021-08-06"


class NoAzurite(Exception):
    """This machine has no `azurite-blob`."""


class Azurite(Server):
    """A server; in a `with` statement it is up.

    Raises:
        NoAzurite: the program is missing.
    """

    def __init__(self) -> None:
        program = shutil.which("azurite-blob")
        if program is None:
            raise NoAzurite("there is no azurite-blob on the PATH: npm install --global azurite")
        (self._port,) = free_ports(1)
        self.endpoint = f"http://127.0.0.1:{self._port}/{ACCOUNT}"
        self.key = base64.b64encode(secrets.token_bytes(64)).decode()
        memory = ("--inMemoryPersistence", "--skipApiVersionCheck")
        words = [program, "--blobPort", str(self._port), *memory]
        environ = {**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{self.key}"}
        super().__init__(words, Path(tempfile.mkdtemp(prefix="tidemill-az-")), environ=environ)

    def answers(self) -> bool:
        return b"successfully listens" in self.log.read_bytes()

    def connection(self, key: str = "") -> str:
        """An Airflow connection to it, as JSON.

        Args:
            key: Another than the account's.
        """
        given = {"conn_type": "wasb", "host": self.endpoint, "login": ACCOUNT}
        return json.dumps({**given, "password": key or self.key})

    def fresh_container(self) -> str:
        """A container that was not there before."""
        name = f"container-{uuid4().hex}"
        date = formatdate(usegmt=True)
        headers = {"x-ms-date": date, "x-ms-version": VERSION}
        said = "".join(f"{header}:{value}\n" for header, value in headers.items())
        text = f"PUT{12 * chr(10)}{said}/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signed = hmac.digest(base64.b64decode(self.key), text.encode(), sha256)
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signed).decode()}"
        server = HTTPConnection("127.0.0.1", self._port)
        server.request("PUT", f"/{ACCOUNT}/{name}?restype=container", headers=headers)
        assert server.getresponse().status == HTTPStatus.CREATED
        server.close()
        return name
