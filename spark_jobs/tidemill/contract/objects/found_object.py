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

    def has_etag_of(self, other: "FoundObject") -> bool:
        """Whether a store says the same of both contents, or nothing of one."""
        return not self.etag or not other.etag or same_etag(self.etag, other.etag)

    @property
    def modified_ms(self) -> int:
        return round(self.modified.timestamp() * 1000)


def same_etag(one: str, other: str) -> bool:
    """Whether two etags are the same; a listing may give them without their quotes."""
    return one.strip('"') == other.strip('"')
