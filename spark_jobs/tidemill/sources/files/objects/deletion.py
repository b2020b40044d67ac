"""Deletes an object of S3 on the condition that it was not replaced.

The client of object stores has no such request, so it signs one, and the standard library sends it.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from datetime import timedelta
from enum import Enum, auto
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING

import obstore
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

if TYPE_CHECKING:
    from obstore.store import S3Store


class Deletion(Enum):
    """What became of a request to delete."""

    DELETED = auto()
    GONE = auto()
    CHANGED = auto()
    UNSUPPORTED = auto()


SIGNED_FOR = timedelta(minutes=5)
TIMEOUT_SECONDS = 60
TRIES = 5
# With 409 a store says that somebody else writes to the object at the moment.
PATIENCE = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}
ANSWERS = {
    HTTPStatus.NOT_FOUND: Deletion.GONE,
    HTTPStatus.PRECONDITION_FAILED: Deletion.CHANGED,
    HTTPStatus.NOT_IMPLEMENTED: Deletion.UNSUPPORTED,
}


class DeletionFailed(OSError):
    """A store refuses to delete; its text has the status as the client of stores writes it."""


class _Unanswered(DeletionFailed):
    """A store does not answer, or asks for patience."""


def delete_unchanged(client: S3Store, key: str, etag: str) -> Deletion:
    """Delete an object if the store still calls its content so.

    Returns:
        `GONE` also where an earlier try has deleted it whose answer was lost; `UNSUPPORTED` where
        the store says that it takes no such condition.

    Raises:
        DeletionFailed: the store refuses, or does not answer at several tries.
        obstore.exceptions.BaseError: the request cannot be signed.
    """
    for attempt in Retrying(
        retry=retry_if_exception_type(_Unanswered),
        stop=stop_after_attempt(TRIES),
        wait=wait_random_exponential(multiplier=0.1, max=5),
        reraise=True,
    ):
        with attempt:
            return _ask(obstore.sign(client, "DELETE", key, SIGNED_FOR), etag)
    raise AssertionError(key)


def _ask(url: str, etag: str) -> Deletion:
    request = urllib.request.Request(url, method="DELETE", headers={"If-Match": etag})  # noqa: S310 - the store's own address
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310 - likewise
            return Deletion.DELETED
    except urllib.error.HTTPError as error:
        with error:
            status = error.code
    except (OSError, HTTPException) as error:
        # Without the address, which carries a signature.
        raise _Unanswered(f"no answer: {error}") from None
    if status in ANSWERS:
        return ANSWERS[HTTPStatus(status)]
    if status in PATIENCE or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise _Unanswered(f"it answered {status}")
    raise DeletionFailed(f"status code: {status}")
