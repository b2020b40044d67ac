"""Errors of object stores."""

import re

from tidemill.contract.errors import Refused, TransientError

# The store's refusals; with 408 and 429 it asks for patience, with 409 another writer is busy.
REFUSED = re.compile(r"status code: (?!408|409|429)(4\d\d|501)\b")


class ObjectStoreUnreachable(TransientError):
    """An object store does not answer, or fails; carries `url` and `field`."""


class ObjectStoreRefuses(Refused):
    """An object store does not let us do what is asked; carries `url`, `field` and `status`."""


class ObjectKeyUnusable(Refused):
    """An object's key cannot be a path of a file; carries `keys`."""


class ObjectReplacedMeanwhile(TransientError):
    """An object is another one than was listed a moment ago; carries `key`."""
