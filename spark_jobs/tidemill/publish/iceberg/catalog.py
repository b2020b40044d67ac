"""Opens an Iceberg catalogue; PyIceberg's errors come out as Tidemill's, without secrets."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    CommitFailedException,
    CommitStateUnknownException,
    NotInstalledError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TooManyRequestsError,
    ValidationException,
)
from requests import RequestException
from sqlalchemy.exc import DBAPIError

from tidemill.contract.connections.airflow import Connection, connection
from tidemill.contract.connections.iceberg import catalog_properties
from tidemill.contract.errors import Refused, UsageError
from tidemill.publish.iceberg.client_errors import client_errors, may_pass
from tidemill.publish.target import TargetUnreachable
from tidemill.spec.iceberg_target import IcebergTarget as Given

# PyIceberg hands it to Glue's client as it is, and that takes a number alone.
RETRIES = "glue.max-retries"
# Somebody else committed first: what was to be committed is decided again.
LOST_RACES = (CommitFailedException, TableAlreadyExistsError, ValidationException)
# Nothing is known of the last commit, or nothing was done; a later try may go through.
PASSING = (
    AuthorizationExpiredError,
    CommitStateUnknownException,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    RequestException,
    DBAPIError,
    OSError,
)


class CatalogRefused(Refused):
    """The Iceberg catalogue would not do it; carries `target`."""


def open_catalog(given: Given) -> Catalog:
    """The catalogue of a target.

    Raises:
        UsageError: its connection is missing, or PyIceberg lacks what the catalogue needs.
        CatalogRefused: it refuses us.
        TargetUnreachable: it does not answer.
    """
    found = connection(given.conn_id) if given.conn_id is not None else None
    with ours(given, found):
        own = catalog_properties(found) if found is not None else {}
        properties: dict[str, Any] = {**given.properties, **own}
        if RETRIES in properties:
            properties[RETRIES] = int(properties[RETRIES])
        return load_catalog(given.catalog, **properties)


@contextmanager
def ours(given: Given, found: Connection | None) -> Iterator[None]:
    """Turn errors of PyIceberg and its clients into ours; a lost race is the caller's."""
    try:
        yield
    except LOST_RACES:
        raise
    except PASSING as error:
        raise _unreachable(given, _said(error, found)) from None
    except NotInstalledError as error:
        raise UsageError(
            f"{given.name}: {_said(error, found)}",
            remedy="Install the extra of PyIceberg that it names.",
        ) from None
    except (RESTError, ValueError) as error:
        raise _refused(given, _said(error, found)) from None
    except client_errors() as error:
        wrapped = _unreachable if may_pass(error) else _refused
        raise wrapped(given, _said(error, found)) from None


def _unreachable(given: Given, said: str) -> TargetUnreachable:
    return TargetUnreachable(
        f"{given.name} cannot be reached: {said}",
        remedy="The next run brings it up to date; check catalogue and connection.",
        target=given.name,
    )


def _refused(given: Given, said: str) -> CatalogRefused:
    return CatalogRefused(
        f"{given.name}: the catalogue refused: {said}",
        remedy="Nothing was published to it; correct the target's properties, its connection, "
        "or its rights in the catalogue.",
        target=given.name,
    )


def _said(error: Exception, found: Connection | None) -> str:
    # A database's error quotes statement and values; the driver's own sentence is enough.
    text = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    if found is None:
        return " ".join(text.split())[:300]
    for setting in found.settings.values():
        secret = urlsplit(setting).password if isinstance(setting, str) else None
        text = text.replace(secret, "***") if secret else text
    return found.scrubbed(text)
