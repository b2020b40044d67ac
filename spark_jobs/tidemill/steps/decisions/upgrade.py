"""Rewrites the documents of a pipeline that an older version wrote, in today's format.

Nothing needs it while this version reads them. It lets a later version stop reading old formats.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from tidemill.contract.document import FIRST_VERSION, FORMAT_VERSION, Document
from tidemill.contract.layout import Layout
from tidemill.steps.parts.document_kinds import DOCUMENT_KINDS
from tidemill.storage import documents
from tidemill.storage.lease import hold
from tidemill.storage.sync import put_whole


def old_documents(layout: Layout) -> list[tuple[Path, Document]]:
    """The documents of a pipeline that are of an older format.

    Raises:
        TornDocument: one of the pipeline's documents is damaged.
        NewerFormat: one was written by a newer major version.
    """
    found = ((path, documents.read(path, model)) for path, model in _all(layout.home))
    return [(path, one) for path, one in found if one is not None and _is_old(path, one)]


def upgrade(layout: Layout, run_id: str) -> Iterator[Path]:
    """Rewrite every document of an older format under the lease, each whole or not at all.

    An upgrade that was interrupted is continued by the next one.

    Yields:
        The path of each document, after it was rewritten.

    Raises:
        TornDocument: one of the pipeline's documents is damaged; nothing is rewritten.
        NewerFormat: one was written by a newer major version; nothing is rewritten.
        LeaseHeld: another process writes to the pipeline.
    """
    with hold(layout.lease, step="upgrade", run_id=run_id) as lease:
        for path, document in old_documents(layout):
            lease.check()
            put_whole(path, document.content())
            yield path


def _all(home: Path) -> Iterator[tuple[Path, type[Document]]]:
    return ((path, kind.model) for kind in DOCUMENT_KINDS for path in kind.paths(home))


def _is_old(path: Path, document: Document) -> bool:
    # One of a newer minor version keeps its own.
    if document.format_version != FORMAT_VERSION:
        return False
    written: str = json.loads(path.read_bytes()).get("format_version", FIRST_VERSION)
    return written != FORMAT_VERSION
