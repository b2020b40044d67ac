"""Rows that leave a target outside the root, and what such targets do for an erasure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class ErasedRows:
    """The rows that an erasure takes away.

    Args:
        columns: Column -> its values; a row is one of them if it has one value of each column.
        files: Data file -> the same without these rows.
        hashes: Event -> the hash of its files, where these are others now.
    """

    columns: Mapping[str, tuple[Any, ...]]
    files: Mapping[Path, Path] = field(default_factory=dict)
    hashes: Mapping[int, str] = field(default_factory=dict)


@runtime_checkable
class ErasesRows(Protocol):
    """A target outside the root that gives rows up."""

    @property
    def name(self) -> str:
        """Its name in the journal."""
        ...

    def count_rows(self, rows: ErasedRows) -> int:
        """How many of the rows it holds.

        Raises:
            Refused: it holds some in a place where they cannot be erased.
            TargetUnreachable: it does not answer.
        """
        ...

    def erase_rows(self, rows: ErasedRows) -> None:
        """Take the rows away, and let its head say the new hash; done before, it changes nothing.

        Raises:
            LeaseLost: a newer epoch has written.
            TableTaken: the table is another pipeline's.
            TargetUnreachable: it does not answer.
        """
        ...


@runtime_checkable
class KeepsPast(Protocol):
    """A target outside the root that keeps what its table was beside what it is."""

    @property
    def name(self) -> str:
        """Its name in the journal."""
        ...

    def refuse_kept_past(self) -> None:
        """Refuse a table whose past could not be removed.

        Raises:
            Refused: somebody else keeps it.
            TargetUnreachable: it does not answer.
        """
        ...

    def forget_past(self) -> None:
        """Remove all but what the table is now; done in part before, it goes on.

        Raises:
            LeaseLost: a newer epoch has written.
            TableTaken: the table is another pipeline's.
            TargetUnreachable: it does not answer.
        """
        ...

    def count_past(self, generation: str) -> int:
        """How many versions the table has that may hold rows of the past.

        Args:
            generation: The generation whose rows the table is to have.

        Raises:
            TargetUnreachable: it does not answer.
        """
        ...

    def unnamed_files(self) -> list[str]:
        """The files in the table's storage that no version of it names.

        Raises:
            TargetUnreachable: it does not answer.
        """
        ...
