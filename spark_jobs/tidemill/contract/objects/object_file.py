"""Objects as files of Python's: read from any place, and written from the beginning."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidemill.contract.objects.client import ObjectClient


class ObjectReader(io.RawIOBase):
    """An object as a file of Python's, which Arrow reads footers through."""

    def __init__(self, client: ObjectClient, key: str) -> None:
        self._client = client
        self._object = client.reader(key)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._client.errors():
            content = bytes(self._object.read(len(buffer)))
        buffer[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._object.seek(offset, whence))

    def tell(self) -> int:
        return int(self._object.tell())


class ObjectWriter(io.RawIOBase):
    """An object as a file that is written in parts; none appears where writing failed."""

    def __init__(self, client: ObjectClient, key: str) -> None:
        self._client = client
        self._object = client.writer(key)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        with self._client.errors():
            self._object.write(content)
        return len(content)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with self._client.errors():
                self._object.close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            super().close()
