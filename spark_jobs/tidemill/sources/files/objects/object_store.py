"""The object store of a file source: what is there, and what is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import BinaryIO

from obstore.store import S3Store

from tidemill.contract.connections.airflow import connection
from tidemill.contract.objects.client import ObjectClient
from tidemill.contract.objects.found_object import FoundObject
from tidemill.sources.files.objects.deletion import Deletion, delete_unchanged


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
        login = connection(conn_id, environ) if conn_id else None
        self._client = ObjectClient(url, field, login)

    def list(self) -> list[FoundObject]:
        """Every object below the URL, the oldest first.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: there is no such bucket, or it is not ours to list.
        """
        return sorted(self._client.objects(), key=lambda one: (one.modified, one.key))

    def read(self, found: FoundObject, into: BinaryIO) -> None:
        """Copy the content that was listed.

        Raises:
            ObjectReplacedMeanwhile: it was replaced since, or deleted; transient.
        """
        self._client.read(found, into)

    def find(self, key: str) -> FoundObject | None:
        """An object as it is now, None where there is none.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to read.
        """
        try:
            return self._client.head(key)
        except FileNotFoundError:
            return None

    def write(self, key: str, content: BinaryIO) -> str | None:
        """Put an object, whole or not at all, over one that is there.

        Returns:
            What the store calls its content; None where it does not say.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to write.
        """
        return self._client.put(key, content)

    def delete(self, key: str, etag: str) -> Deletion:
        """Delete an object of S3 whose content is known.

        Args:
            etag: What the store calls that content; an object with another content stays, where the
                store `deletes_on_condition`.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to delete.
        """
        store = self._client.store
        if not isinstance(store, S3Store):
            raise TypeError(self.url)
        with self._client.errors("delete"):
            return delete_unchanged(store, key, etag)

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
