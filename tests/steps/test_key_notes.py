"""Keys that may be null where a database upserts by them: check says what comes of it."""

from __future__ import annotations

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.steps.read_only.checks.key_notes import key_note

UPDATE = "output: {mode: update, keys: [id]}\n"
TO_MARIADB = "publish: [{kind: delta}, {kind: mariadb, conn_id: db, table: t}]\n"


@pytest.mark.parametrize(
    ("more", "notes"),
    [
        (UPDATE, 0),
        (TO_MARIADB, 0),
        (UPDATE + TO_MARIADB, 1),
        (UPDATE + TO_MARIADB + "row_rules: {id_known: id is not null AND amount > 0}\n", 0),
        (UPDATE + TO_MARIADB + "row_rules: {id_short: length(id) < 9}\n", 1),
        (UPDATE.replace("[id]", "[hour]") + TO_MARIADB, 0),
    ],
)
def test_a_note_where_a_null_key_would_be_rejected(more: str, notes: int) -> None:
    said = [*key_note("orders", parse(minimal(more)))]
    assert len(said) == notes
    assert all("row_rules: {id_known: id IS NOT NULL}" in one for one in said)
