"""Erasures: documents that say which rows a pipeline holds no more, and never takes in again.

Each lasts: the engine leaves its rows out of every later batch and recomputation. It holds no value
of a person, only salted hashes: they cannot be read, but a value that is guessed can be confirmed.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from tidemill.contract.document import Document, FrozenModel
from tidemill.contract.errors import Refused
from tidemill.storage import documents

# The step that finishes what the others are refused for.
ERASE = "erase"


class ErasureUnfinished(Refused):
    """Rows of the pipeline are erased in part; carries `erasure`."""


class HiddenText(FrozenModel):
    """A text by its hash.

    Attributes:
        letters: Its length in characters, so that it can be found within a longer text.
        sha256: The hash of salt and text.
    """

    letters: int
    sha256: str

    @classmethod
    def of(cls, salt: str, text: str) -> "HiddenText":
        return cls(letters=len(text), sha256=hashlib.sha256((salt + text).encode()).hexdigest())


class Erasure(Document):
    """A lasting erasure, written before the first row goes.

    A good row is erased if each of the columns has one of its values: a row of the table, or, where
    sources are named, a row of one of them before the transform. A rejected row is erased if
    its record has, for each of the columns, one of the texts, or any of the further texts.

    Attributes:
        columns: Column -> its values.
        texts: Column -> what its values look like within a record; none where they are too short.
        further: Other texts by which the same person is known.
        sources: The sources whose typed rows the columns are of; none where they are the table's.
        epoch: The epoch of the lease it was begun under.
    """

    number: int
    salt: str
    columns: Mapping[str, tuple[HiddenText, ...]]
    texts: Mapping[str, tuple[HiddenText, ...]] = {}
    further: tuple[HiddenText, ...] = ()
    sources: tuple[str, ...] = ()
    by: str
    os_user: str | None = None
    reason: str
    run_id: str
    epoch: int
    began: datetime


class Erased(Document):
    """The end of an erasure: nothing below the root held its rows any more.

    Attributes:
        rows: Good rows that were in the files it has written again.
        rejected: Rejected ones.
        files: How many files of rows those were.
        accepted_loss: Whether a person accepted that input which is gone was not read again.
    """

    rows: int
    rejected: int
    files: int
    accepted_loss: bool = False
    at: datetime


def erasure_file(home: Path, number: int) -> Path:
    """The document of an erasure.

    Args:
        home: `Layout.home`.
    """
    return home / "erasures" / f"{number:06d}.json"


def end_of_erasure(home: Path, number: int) -> Path:
    return home / "erasures" / f"{number:06d}.done"


def newest_erasure(home: Path) -> int:
    """The number of the newest erasure, 0 where there was none."""
    return documents.newest(home / "erasures") or 0


def read_erasures(home: Path) -> list[Erasure]:
    """All erasures, in order."""
    found = (documents.read(path, Erasure) for _, path in documents.numbered(home / "erasures"))
    return [one for one in found if one is not None]


def unfinished_erasure(home: Path) -> Erasure | None:
    """The newest erasure, if it was not finished; those before it were."""
    number = newest_erasure(home)
    if number == 0 or end_of_erasure(home, number).exists():
        return None
    return documents.read(erasure_file(home, number), Erasure)


def refuse_unfinished_erasure(home: Path) -> None:
    """Refuse a pipeline whose files and books are written again in part.

    Raises:
        ErasureUnfinished: they are.
    """
    found = unfinished_erasure(home)
    if found is not None:
        raise ErasureUnfinished(
            f"Erasure {found.number} of {home.name}, by {', '.join(found.columns)}, is half done.",
            remedy=f"Finish it with the same condition: tidemill erase {home.name} --where "
            "CONDITION --reason TEXT --apply",
            erasure=found.model_dump(mode="json"),
        )
