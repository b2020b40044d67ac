"""The tables of file formats: what a spec may name has rules, and a reader of its files."""

from __future__ import annotations

from typing import get_args

from tidemill.file_formats.table import READERS
from tidemill.spec.formats.table import FORMATS, FileFormat


def test_each_format_of_a_spec_has_rules_and_a_reader() -> None:
    assert get_args(FileFormat) == tuple(FORMATS) == tuple(READERS)


def test_a_reader_and_its_format_share_their_rules() -> None:
    assert {name: reader.rules for name, reader in READERS.items()} == FORMATS
