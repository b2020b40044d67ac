"""A repair: one file of a Spark log that is rewritten or removed, or all state of a first batch."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemill.contract.errors import Refused
from tidemill.storage.folders import remove_folder
from tidemill.storage.sync import put_whole, sync_folder


class EntryUnknown(Refused):
    """Nothing tells what stood in a file of Spark's; carries `file` and `why`."""


@dataclass(frozen=True)
class Repair:
    """The action on a file.

    Args:
        file: The file; its checksum goes with it, for Spark would compare it. A folder is removed
            with all that is in it.
        why: What is wrong with the file.
        text: What it will hold; None where it is removed.
    """

    file: Path
    why: str
    text: str | None = None

    @property
    def action(self) -> str:
        return "remove" if self.text is None else "write"

    def as_dict(self) -> dict[str, Any]:
        return {"file": str(self.file), "action": self.action, "why": self.why}


def unknown(file: Path, why: str, lost: Path, pipeline: str) -> EntryUnknown:
    """The error that a file cannot be rewritten.

    Args:
        lost: The folder that a backup could bring back.
        pipeline: The name of the pipeline.
    """
    return EntryUnknown(
        f"{file} cannot be rewritten: {why}.",
        remedy=f"Restore the newest backup of {lost}; or compute everything from the beginning: "
        f"tidemill rebuild {pipeline} --reason TEXT.",
        file=file,
        why=why,
    )


def carry_out(repairs: Iterable[Repair]) -> None:
    """Do all of it, in order; what was done survives a kill, and the rest is found again."""
    for repair in repairs:
        if repair.text is not None:
            repair.file.parent.mkdir(parents=True, exist_ok=True)
            put_whole(repair.file, repair.text)
            continue
        # The checksum first: left alone, it would end a run of Spark's.
        repair.file.with_name(f".{repair.file.name}.crc").unlink(missing_ok=True)
        if repair.file.is_dir():
            remove_folder(repair.file)
        else:
            repair.file.unlink(missing_ok=True)
        sync_folder(repair.file.parent)
