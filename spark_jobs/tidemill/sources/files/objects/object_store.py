"""An object store without a JVM: lists objects and reads them, with errors of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO

import obstore
from obstore.exceptions import BaseError, PreconditionError
from obstore.store import from_url

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.object_stores import store_settings
from tidemill.contract.errors import Refused, TransientError
from tidemill.sources.files.objects.found_object import FoundObject
from tidemill.spec.sources.fetch import Fetch

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
    """An object store does not let us list or read; carries `url`, `field` and `status`."""


class ObjectReplacedMeanwhile(TransientError):
    """An object is another one than was listed a moment ago; carries `key`."""


class ObjectStore:
    """The store of one file source.

    Args:
        name: The source's name, for errors.
    """

    def __init__(self, name: str, fetch: Fetch, environ: Mapping[str, str]) -> None:
        self.url = fetch.url
        self.field = f"sources.{name}.fetch.url"
        self._connection = connection(fetch.conn_id, environ) if fetch.conn_id else None
        self._client = _client(fetch, self._connection)

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

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, PreconditionError):
            raise
        except BaseError as error:
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
            raise ObjectStoreRefuses(
                f"{self.field}: {self.url} cannot be read: {said}",
                remedy="Correct the URL, or the connection that conn_id names, or let its user "
                "list and read the bucket.",
                url=self.url,
                field=self.field,
                status=int(status[1]),
            ) from None


def _client(fetch: Fetch, login: Connection | None) -> Client:
    settings: Any = store_settings(login) if login else {}
    plain = str(settings.get("endpoint", "")).startswith("http://")
    options: ClientConfig = {**TIMES, "allow_http": plain}
    return from_url(fetch.url, config=settings, client_options=options, retry_config=RETRIES)
