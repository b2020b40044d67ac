"""The questions that every kind of target under `publish:` answers."""

import hashlib
from collections.abc import Sequence
from typing import ClassVar

from tidemill.spec.model import Model
from tidemill.spec.output import Output, OutputMode

# The longest target's name; it is a part of file names in the journal.
LONGEST_NAME = 120


class BaseTarget(Model):
    """A place that consumers read: the questions that every kind of target answers."""

    kind: str
    # Whether it keeps its head outside the root.
    remote_head: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Its name in the journal."""
        return self.kind

    @property
    def held_in(self) -> str:
        """What a person removes to have it filled again from the journal."""
        return f"what {self.name} holds"

    def upserts(self, mode: OutputMode) -> bool:
        """Whether rows of this output mode replace rows with the same keys."""
        return False

    def cannot_swap(self, output: Output) -> str | None:
        """Why rows cannot be put in the place of others; None where they can."""
        return None

    def column_refused(self, name: str) -> str | None:
        """Why a published column cannot have this name here; None where it can."""
        return None

    def longest_key(self, kind: str) -> int | None:
        """The most characters of a text, or bytes of a binary, in a key; None where any fit.

        Args:
            kind: Spark's name of the column's type.
        """
        return None

    @property
    def longest_whole_key(self) -> int | None:
        """The most bytes of the texts and binaries of a key together; None where any are held."""
        return None

    def key_refused(self, kinds: Sequence[str]) -> str | None:
        """Why columns of these types together cannot be the key here; None where they can."""
        return None

    @property
    def columns_named(self) -> tuple[tuple[str, str], ...]:
        """Its fields that name a published column, each with that column."""
        return ()

    def agree(self, output: Output, *at: str | int) -> None:
        """Check that this target can equal the published rows.

        Args:
            output: The output of the spec.
            *at: The path of this target in the spec.

        Raises:
            Disagreement: it could not.
        """


def target_name(*parts: str) -> str:
    """A target's name in the journal, cut where it would be too long for a file's name."""
    name = ".".join(parts)
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 13]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
