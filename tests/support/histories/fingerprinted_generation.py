"""A generation of a history that was born with a fingerprint."""

from __future__ import annotations

from tests.support.histories.history_builder import NAME, History
from tidemill.compatibility.creation_snapshot import put_fingerprint
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.generation_note import GenerationNote, hash_of_file, read_note

CODE = '''
def transform(orders):
    """All of them."""
    return orders.where("id > 0")
'''


def born(history: History, code: str = CODE) -> GenerationNote:
    """Give the transform of a history, and put down what it was when its generation was born."""
    path = history.project.transform(NAME)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    found = read_note(history.layout, FIRST_GENERATION)
    assert found is not None
    note = found.model_copy(update={"code_hash": hash_of_file(path)})
    history.layout.note(FIRST_GENERATION).write_text(note.model_dump_json())
    put_fingerprint(history.pipeline, note)
    return note
