"""Spark's escaping of paths: directory names on disk, and the partition values in them.

Spark escapes twice. A partition value becomes a directory name with `%` escapes (`a:b` ->
`k=a%3Ab`), and a log records the path as a URI, which escapes that name again (`k=a%253Ab`).
"""

from collections.abc import Mapping
from pathlib import Path
from unicodedata import category
from urllib.parse import quote, unquote

from tidemill.contract.errors import Refused
from tidemill.contract.objects.object_path import URL, ObjectPath
from tidemill.spec.output import ESCAPED, REJECTED, REJECTED_PARTITION

# What Spark writes for null, and for '' as well.
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# What it does not escape in a URI's path, beside letters and digits (`java.net.URI`).
_PLAIN = "/_-!.~'()*,;:$&+=@"
_SPACES = ("Zs", "Zl", "Zp", "Cc")


class NotAPartitionDirectory(Refused):
    """A file of a sink is in a directory that is not `name=value`; carries `file`, `name`."""


class NotALocalFile(Refused):
    """A log names a file that is on no local file system; carries `uri`."""


def disk_path(uri: str) -> str:
    """The path of a file, on disk or in an object store, as one of Spark's logs records it.

    Raises:
        NotALocalFile: the URI is of another file system.
    """
    # Hadoop prints `file:/a` or `file:///a`; whatever follows a lone `//` is a host.
    path = uri.removeprefix("file://") if uri.startswith("file://") else uri.removeprefix("file:")
    if path != uri and path.startswith("/"):
        return unquote(path)
    if URL.fullmatch(uri):
        return unquote(uri)
    raise NotALocalFile(
        f"{uri} is not on a local file system.",
        remedy="Give TIDEMILL_ROOT and the sources as local directories.",
        uri=uri,
    )


def uri(path: Path) -> str:
    """How Spark's logs record a file of the local file system: the opposite of `disk_path`."""
    return uri_path(path) if isinstance(path, ObjectPath) else f"file://{uri_path(path)}"


def uri_path(path: Path) -> str:
    """The same without the scheme of the local file system."""
    # Java leaves letters of other languages as they are, and escapes their spaces and controls.
    return "".join(
        quote(one, safe=_PLAIN) if one.isascii() or category(one) in _SPACES else one
        for one in str(path)
    )


def partition_values(file: Path, sink: Path) -> dict[str, str | None]:
    """The partition values of a file, by column, as Spark printed them.

    Args:
        file: A file as it is on disk, below `sink`.

    Raises:
        ValueError: the file is not below the sink.
        NotAPartitionDirectory: one of the directories between is not `name=value`.
    """
    values: dict[str, str | None] = {}
    for name in file.relative_to(sink).parent.parts:
        column, equals, value = name.partition("=")
        if not equals or not column:
            raise NotAPartitionDirectory(
                f"{file} is in '{name}', which is not a partition of {sink}.",
                remedy=f"Move what is not the pipeline's out of {sink}.",
                file=file,
                name=name,
            )
        values[unquote(column)] = None if value == NULL_PARTITION else unquote(value)
    return values


def partition_directory(values: Mapping[str, str | None]) -> Path:
    """The directory of a partition below the sink, named as Spark names it."""
    names = (
        f"{_escaped(column)}={NULL_PARTITION if value in (None, '') else _escaped(value)}"
        for column, value in values.items()
    )
    return Path(*names)


def is_rejected(values: Mapping[str, str | None], *, keeps_null: bool) -> bool:
    """Whether a sink partition is that of rejected rows (see `Output.sink_partitions`).

    Args:
        keeps_null: Whether the null partition holds good rows.
    """
    if REJECTED in values:
        return values[REJECTED] == "true"
    if keeps_null:
        return REJECTED_PARTITION in values.values()
    return all(value is None for value in values.values())


def _escaped(text: str | None) -> str:
    return "".join(f"%{ord(c):02X}" if c in ESCAPED else c for c in text or "")
