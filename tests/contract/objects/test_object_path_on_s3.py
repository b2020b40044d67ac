"""Paths in a bucket of a server that speaks S3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.objects.test_object_path import (
    test_a_bucket_is_looked_through_like_a_folder,
    test_a_folder_is_removed_with_all_that_is_in_it_and_no_more,
    test_what_is_missing_is_missing,
    test_what_was_written_is_read_in_whole_and_in_parts,
    with_files,
)
from tests.servers.s3 import S3
from tests.support.s3_root import new_root
from tidemill.contract.objects.object_path import path_of

__all__ = [
    "test_a_bucket_is_looked_through_like_a_folder",
    "test_a_folder_is_removed_with_all_that_is_in_it_and_no_more",
    "test_what_is_missing_is_missing",
    "test_what_was_written_is_read_in_whole_and_in_parts",
]


@pytest.fixture
def folder(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with some files."""
    return with_files(path_of(new_root(s3, monkeypatch)))
