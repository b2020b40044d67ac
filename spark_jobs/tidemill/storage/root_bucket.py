"""Tells whether a bucket can hold a root.

Ledger, journal and lease are safe only where a put with `If-None-Match: *` fails once the object is
there; some servers that speak S3 take the header and overwrite all the same. And they are whole
only where a listing names each object that was put: what is left out counts as never written.
"""

import uuid

from tidemill.contract.errors import Refused
from tidemill.contract.objects.errors import ObjectStoreRefuses
from tidemill.contract.objects.object_path import ObjectPath

NOT_IMPLEMENTED = 501
FIRST, SECOND = b"first", b"second"


class NoConditionalPut(Refused):
    """An object store lets a second writer overwrite what must be written once; carries `root`."""


class NoStrongListing(Refused):
    """An object store does not list an object that it has; carries `root`."""


def verify_bucket(root: ObjectPath) -> None:
    """Prove that a bucket can hold documents: write an object twice, and list it.

    Raises:
        NoConditionalPut: the second put took the place of the first, or is not known there.
        NoStrongListing: the object was written, and is not listed.
        ObjectStoreRefuses: this user may not write there.
        ObjectStoreUnreachable: the store does not answer; transient.
    """
    probe = root / ".tidemill" / f"probe-{uuid.uuid4().hex}"
    try:
        if not _is_put_once(probe):
            raise NoConditionalPut(
                f"The object store of '{root}' overwrites an object that a put with If-None-Match "
                "was to leave as it is, so that two writers could overwrite each other.",
                remedy="Put TIDEMILL_ROOT into a store that has conditional writes, such as Amazon "
                "S3 or a present MinIO, or on a disk.",
                root=str(root),
            )
        if probe not in probe.parent.iterdir():
            raise NoStrongListing(
                f"The object store of '{root}' does not list an object that was just written, so "
                "that a run would not see what the one before it has done.",
                remedy="Put TIDEMILL_ROOT into a store whose listings are strongly consistent, "
                "such as Amazon S3, reached without a cache in between, or on a disk.",
                root=str(root),
            )
    finally:
        probe.unlink(missing_ok=True)


def _is_put_once(probe: ObjectPath) -> bool:
    try:
        probe.create(FIRST)
        # A reply may be lost, so that what is there tells.
        return not probe.create(SECOND) and probe.read_bytes() == FIRST
    except ObjectStoreRefuses as error:
        if error.status != NOT_IMPLEMENTED:
            raise
        return False
