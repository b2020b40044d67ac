"""The error that says which input cannot be read again as it was."""

from collections.abc import Sequence

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.ledger.batch import Batch
from tidemill.ledger.input_file import InputFile

MOST_NAMED = 20


class InputGone(Refused):
    """A batch's input cannot be read again as it was; carries `source` and `batch`."""


def batch_gone(name: str, batch: Batch, why: str) -> InputGone:
    """What a batch read of a source is gone."""
    return InputGone(
        f"sources.{name}: what batch {batch.batch} read cannot be read again: {why}.",
        remedy="Put the file back as it was.",
        source=name,
        batch=batch.batch,
        why=why,
    )


def files_gone(files: Sequence[InputFile], listed: int | None = None) -> InputGone:
    """Files that batches have read are gone.

    Args:
        listed: How many of them Spark lists; None where it was not asked.
    """
    names = [file.path for file in files]
    first = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    why = "gone or replaced" if listed is None else f"not all found: Spark has {listed}"
    verb = "is" if len(names) == 1 else "are"
    return InputGone(
        f"{counted(len(names), 'file')} of earlier batches {verb} {why}: {first}.",
        remedy="Put them back as they were, or reject the increment that read them.",
        source=files[0].source,
        files=names[:MOST_NAMED],
        lost=len(names),
        why=why,
    )
