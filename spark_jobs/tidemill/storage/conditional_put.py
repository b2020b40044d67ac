"""Tells whether a bucket keeps a second writer of an object out.

Ledger, journal and lease are safe only where a put with `If-None-Match: *` fails once the object is
there. Some servers that speak S3 take the header and overwrite all the same.
"""

import uuid

from tidemill.contract.errors import Refused
from tidemill.contract.objects.errors import ObjectStoreRefuses
from tidemill.contract.objects.object_path import ObjectPath

NOT_IMPLEMENTED = 501
FIRST, SECOND = b"first", b"second"


class NoConditionalPut(Refused):
    """An object store lets a second writer overwrite what must be written once; carries `root`."""


def verify_conditional_put(root: ObjectPath) -> None:
    """Prove that a bucket can hold documents, by writing an object twice.

    Raises:
        NoConditionalPut: the second put took the place of the first, or is not known there.
        ObjectStoreRefuses: this user may not write there.
        ObjectStoreUnreachable: the store does not answer; transient.
    """
    probe = root / ".tidemill" / f"probe-{uuid.uuid4().hex}"
    try:
        probe.create(FIRST)
        # A reply may be lost, so that what is there tells.
        if not probe.create(SECOND) and probe.read_bytes() == FIRST:
            return
    except ObjectStoreRefuses as error:
        if error.status != NOT_IMPLEMENTED:
            raise
    finally:
        probe.unlink(missing_ok=True)
    raise NoConditionalPut(
        f"The object store of '{root}' overwrites an object that a put with If-None-Match was to "
        "leave as it is, so that two writers could overwrite each other.",
        remedy="Put TIDEMILL_ROOT into a store that has conditional writes, such as Amazon S3 or a "
        "present MinIO, or on a disk.",
        root=str(root),
    )
