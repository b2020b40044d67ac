"""The folder in which Great Expectations writes the site of a pipeline's data docs.

It writes to a disk. A site in an object store is copied to a scratch folder, and what changed
there is put back.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tidemill.contract.objects.object_path import ObjectPath

# So many objects are fetched at a time.
FETCHES = 8


@contextmanager
def on_disk(docs: Path) -> Iterator[Path]:
    """The site's folder on a disk; an error within leaves a site in an object store as it was.

    Args:
        docs: The site, on a disk or in an object store.

    Raises:
        ObjectStoreUnreachable: the store does not answer.
        ObjectStoreRefuses: it is not ours to read or write.
    """
    if not isinstance(docs, ObjectPath):
        yield docs
        return
    with TemporaryDirectory(prefix="tidemill-docs-") as scratch:
        folder = Path(scratch)
        before = _fetch(docs, folder)
        yield folder
        _put_back(docs, folder, before)


def _fetch(docs: ObjectPath, folder: Path) -> dict[Path, bytes]:
    """Copy the site; its files and what they hold."""
    names = [file.relative_to(docs) for file, _ in docs.files()]
    with ThreadPoolExecutor(FETCHES) as pool:
        found = dict(
            zip(names, pool.map(lambda name: (docs / name).read_bytes(), names), strict=True)
        )
    for name, content in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return found


def _put_back(docs: ObjectPath, folder: Path, before: dict[Path, bytes]) -> None:
    # What is nearer to the top goes last: an index names no page that is not there.
    names = {one.relative_to(folder) for one in folder.rglob("*") if one.is_file()}
    for name in sorted(names, key=lambda one: (-len(one.parts), one)):
        content = (folder / name).read_bytes()
        if before.get(name) != content:
            (docs / name).write_bytes(content)
    docs.client.delete([(docs / name).key for name in before.keys() - names])
