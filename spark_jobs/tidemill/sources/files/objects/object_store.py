"""An object store without a JVM: lists, reads, writes and deletes objects, with errors of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

import obstore
from obstore.exceptions import BaseError, PreconditionError
from obstore.store import S3Store, from_url

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.object_stores import store_settings
from tidemill.contract.errors import Refused, TransientError
from tidemill.sources.files.objects.deletion import Deletion, DeletionFailed, delete_unchanged
from tidemill.sources.files.objects.found_object import FoundObject

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ClientConfig, RetryConfig
    from obstore.store import ObjectStore as Client

# One request brings so much, so that a slow one is told from one that hangs.
PART_BYTES = 16 * 2**20
# The store's refusals; with 408 and 429 it only asks for patience.
REFUSED = re.compile(r"status code: (?!408|429)(4\d\d)\b")
TIMES: ClientConfig = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=60)}
RETRIES: RetryConfig = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}


class ObjectStoreUnreachable(TransientError):
    """An object store does not answer, or fails; carries `url` and `field`."""


class ObjectStoreRefuses(Refused):
    """An object store does not let us do what a spec asks; has `url`, `field` and `status`."""


class ObjectReplacedMeanwhile(TransientError):
    """An object is another one than was listed a moment ago; carries `key`."""


class ObjectStore:
    """A bucket, or a folder in it.

    Args:
        field: The field of the spec that names it, for errors.
        url: The bucket or folder; keys are below it.
        conn_id: The Airflow connection with the secrets, where there is one.
    """

    def __init__(
        self, field: str, url: str, conn_id: str | None, environ: Mapping[str, str]
    ) -> None:
        self.url = url
        self.field = field
        self._connection = connection(conn_id, environ) if conn_id else None
        self._client = _client(url, self._connection)

    def list(self) -> list[FoundObject]:
        """Every object below the URL, the oldest first.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: there is no such bucket, or it is not ours to list.
        """
        with self._errors():
            listed = [one for page in obstore.list(self._client) for one in page]
        found = [
            FoundObject(o["path"], o["size"], o["last_modified"], o["e_tag"], o["version"])
            for o in listed
        ]
        return sorted(found, key=lambda one: (one.modified, one.key))

    def read(self, found: FoundObject, into: BinaryIO) -> None:
        """Copy the content that was listed.

        Raises:
            ObjectReplacedMeanwhile: it was replaced since, or deleted; transient.
        """
        for start in range(0, found.size, PART_BYTES):
            end = min(start + PART_BYTES, found.size)
            options: GetOptions = {"range": (start, end)}
            if found.etag:
                options["if_match"] = found.etag
            if found.version:
                options["version"] = found.version
            try:
                with self._errors():
                    into.write(obstore.get(self._client, found.key, options=options).bytes())
            except (FileNotFoundError, PreconditionError) as error:
                raise ObjectReplacedMeanwhile(
                    f"{self.field}: {found.key} was replaced or deleted while it was copied.",
                    remedy="The next try copies what is there then.",
                    key=found.key,
                ) from error

    def find(self, key: str) -> FoundObject | None:
        """An object as it is now, None where there is none.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to read.
        """
        try:
            with self._errors():
                o = obstore.head(self._client, key)
        except FileNotFoundError:
            return None
        return FoundObject(key, o["size"], o["last_modified"], o["e_tag"], o["version"])

    def write(self, key: str, content: BinaryIO) -> str | None:
        """Put an object, whole or not at all, over one that is there.

        Returns:
            What the store calls its content; None where it does not say.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to write.
        """
        with self._errors("write"):
            return obstore.put(self._client, key, content)["e_tag"]

    def delete(self, key: str, etag: str) -> Deletion:
        """Delete an object of S3 whose content is known.

        Args:
            etag: What the store calls that content; an object with another content stays, where the
                store `deletes_on_condition`.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to delete.
        """
        if not isinstance(self._client, S3Store):
            raise TypeError(self.url)
        with self._errors("delete"):
            return delete_unchanged(self._client, key, etag)

    def deletes_on_condition(self, probe: str) -> bool:
        """Whether the store keeps an object that a request to delete does not describe.

        Args:
            probe: The key of an object that is put and deleted to find out.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to write or delete.
        """
        etag = self.write(probe, BytesIO(b"Tidemill asks whether If-Match is honoured."))
        honoured = self.delete(probe, '"another"') is Deletion.CHANGED
        if etag is not None:
            self.delete(probe, etag)
        return honoured

    @contextmanager
    def _errors(self, doing: str = "read") -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, PreconditionError):
            raise
        except (BaseError, DeletionFailed) as error:
            # The rest is the client's own data, for its developers.
            text = str(error).partition("\n")[0]
            said = self._connection.scrubbed(text) if self._connection else text[:300]
            status = REFUSED.search(str(error))
            if status is None:
                raise ObjectStoreUnreachable(
                    f"{self.field}: {self.url} cannot be reached: {said}",
                    remedy="Nothing was lost: the next try goes on from here.",
                    url=self.url,
                    field=self.field,
                ) from None
            may = "list and read" if doing == "read" else doing + " objects in"
            raise ObjectStoreRefuses(
                f"{self.field}: {self.url} does not let us {doing}: {said}",
                remedy="Correct the URL, or the connection that conn_id names, or let its user "
                f"{may} the bucket.",
                url=self.url,
                field=self.field,
                status=int(status[1]),
            ) from None


def _client(url: str, login: Connection | None) -> Client:
    settings: Any = store_settings(login) if login else {}
    plain = str(settings.get("endpoint", "")).startswith("http://")
    options: ClientConfig = {**TIMES, "allow_http": plain}
    return from_url(url, config=settings, client_options=options, retry_config=RETRIES)
