"""An object of a store, as a listing shows it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class FoundObject:
    """An object as a listing shows it.

    Args:
        key: Its name below the source's URL.
        etag: What the store calls this content of it; None where it does not say.
        version: The object's version, where the store keeps versions.
    """

    key: str
    size: int
    modified: datetime
    etag: str | None
    version: str | None

    @property
    def modified_ms(self) -> int:
        return round(self.modified.timestamp() * 1000)
