"""A client of one bucket, with errors of ours."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    InvalidPathError,
    PreconditionError,
)
from obstore.store import from_url

from tidemill.contract.connections.airflow import Connection
from tidemill.contract.connections.object_stores import store_settings
from tidemill.contract.objects.errors import (
    REFUSED,
    ObjectKeyUnusable,
    ObjectReplacedMeanwhile,
    ObjectStoreRefuses,
    ObjectStoreUnreachable,
)
from tidemill.contract.objects.folder_marker import marker_settings
from tidemill.contract.objects.found_object import FoundObject

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ClientConfig, RetryConfig

# One request brings so much, so that a slow one is told from one that hangs.
PART_BYTES = 16 * 2**20
INVALID = re.compile(r'Path "(.*?)" contained')
TIMES: ClientConfig = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=60)}
RETRIES: RetryConfig = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
# A conditional put is not repeated by the library: its first try may have succeeded unheard.
PUT_TRIES = 5
PUT_PAUSE_SECONDS = 0.2


class ObjectClient:
    """Lists, reads and writes the objects below a URL.

    Args:
        url: A bucket, or a folder in it.
        field: The spec's field or the variable that names the URL, for errors.
        login: None where the machine's own identity is used.
    """

    def __init__(self, url: str, field: str, login: Connection | None) -> None:
        self.url = url
        self.field = field
        self._login = login
        self.settings: dict[str, Any] = store_settings(login) if login else {}
        self.store = self._store_with(self.settings)

    def _store_with(self, settings: Any) -> Any:
        endpoint = settings.get("endpoint") or settings.get("base_url") or ""
        plain = str(endpoint).startswith("http://")
        options: ClientConfig = {**TIMES, "allow_http": plain}
        return from_url(self.url, config=settings, client_options=options, retry_config=RETRIES)

    def objects(self, folder: str = "") -> list[FoundObject]:
        """Every object below a folder, in the store's order; markers of folders without a slash.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: there is no such bucket, or it is not ours to list.
        """
        with self.errors():
            listed = [one for page in obstore.list(self.store, folder or None) for one in page]
        return [_found(one) for one in listed]

    def names(self, folder: str = "") -> tuple[list[str], list[FoundObject]]:
        """The folders directly in a folder, and the objects.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: there is no such bucket, or it is not ours to list.
        """
        with self.errors():
            found = obstore.list_with_delimiter(self.store, folder or None)
        objects = (_found(one) for one in found["objects"])
        # The folder's own marker would be one of them.
        return list(found["common_prefixes"]), [one for one in objects if one.key != folder]

    def holds(self, folder: str) -> bool:
        """Whether there is an object below a folder; one request.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: there is no such bucket, or it is not ours to list.
        """
        with self.errors():
            return any(len(page) > 0 for page in obstore.list(self.store, folder or None))

    def head(self, key: str) -> FoundObject:
        """What the store says of an object.

        Raises:
            FileNotFoundError: it is not there.
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to read.
        """
        with self.errors():
            return _found(obstore.head(self.store, key))

    def get(self, key: str) -> bytes:
        """The content of an object; raises as `head`."""
        with self.errors():
            return bytes(obstore.get(self.store, key).bytes())

    def reader(self, key: str) -> Any:
        """An object as a file that can be read and sought in; raises as `head`."""
        with self.errors():
            return obstore.open_reader(self.store, key)

    def copy(self, key: str, to: str) -> None:
        """Copy an object within the bucket, in the place of one that may be there; as `head`."""
        with self.errors():
            obstore.copy(self.store, key, to)

    def writer(self, key: str) -> Any:
        """An object as a file that is written in parts, and is there once it is closed."""
        with self.errors():
            return obstore.open_writer(self.store, key)

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
                with self.errors():
                    got = obstore.get(self.store, found.key, options=options)
                    # Some servers ignore the condition.
                    if not _found(got.meta).has_etag_of(found):
                        raise self._replaced(found)
                    content = got.bytes()
            except (FileNotFoundError, PreconditionError) as error:
                raise self._replaced(found) from error
            into.write(content)

    def _replaced(self, found: FoundObject) -> ObjectReplacedMeanwhile:
        return ObjectReplacedMeanwhile(
            f"{self.field}: {found.key} was replaced or deleted while it was copied.",
            remedy="The next try copies what is there then.",
            key=found.key,
        )

    def put(self, key: str, content: bytes | BinaryIO) -> str | None:
        """Write an object, whole or not at all, in the place of one that may be there.

        Returns:
            What the store calls its content; None where it does not say.

        Raises:
            ObjectStoreUnreachable: the store does not answer; transient.
            ObjectStoreRefuses: it is not ours to write.
        """
        with self.errors("write"):
            return obstore.put(self.store, key, content)["e_tag"]

    def create(self, key: str, content: bytes) -> bool:
        """Write an object unless one is there; raises as `put`.

        Returns:
            Whether it was not there. After a reply was lost this is False although this call wrote
            it: whoever has to know compares the content.
        """
        for tries_left in reversed(range(PUT_TRIES)):
            try:
                with self.errors("write"):
                    obstore.put(self.store, key, content, mode="create")
            except AlreadyExistsError:
                return False
            except ObjectStoreUnreachable:
                if tries_left == 0:
                    raise
                time.sleep(PUT_PAUSE_SECONDS)
            else:
                return True
        raise AssertionError

    def delete(self, keys: list[str]) -> None:
        """Remove objects; nothing happens to those that are not there. Raises as `put`."""
        if keys:
            with self.errors("delete"):
                obstore.delete(self.store, keys)

    def delete_markers(self, folders: list[str]) -> None:
        """Remove the markers of folders in a bucket of S3; raises as `delete`."""
        bucket = urlsplit(self.url).netloc
        for folder in folders:
            with self.errors("delete"):
                settings = marker_settings(self.settings, bucket, folder)
                obstore.delete(self._store_with(settings), "")

    @contextmanager
    def errors(self, doing: str = "read") -> Iterator[None]:
        """Raise what the library raises as errors of ours.

        Args:
            doing: What is done: `read`, `write` or `delete`.
        """
        try:
            yield
        except (FileNotFoundError, PreconditionError, AlreadyExistsError):
            raise
        except InvalidPathError as error:
            key = INVALID.search(str(error))
            raise ObjectKeyUnusable(
                f"{self.field}: {self.url} has an object whose key has an empty part, or '.' or "
                f"'..'{f': {key[1]!r}' if key else ''}; the bucket cannot be listed with it.",
                remedy="Deliver it under another key, and delete the object.",
                keys=[key[1]] if key else [],
            ) from None
        except (BaseError, OSError) as error:
            # The rest is the client's own data, for its developers.
            text = str(error).partition("\n")[0]
            said = self._login.scrubbed(text) if self._login else text[:300]
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
                remedy=f"Correct the URL, or the connection to it, or let its user {may} the "
                "bucket.",
                url=self.url,
                field=self.field,
                status=int(status[1]),
            ) from None


def _found(listed: Mapping[str, Any]) -> FoundObject:
    return FoundObject(
        listed["path"],
        listed["size"],
        listed["last_modified"],
        listed["e_tag"],
        listed["version"],
    )
