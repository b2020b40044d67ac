"""Documents, lease and identity of a root in a bucket that this process has in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storage.test_object_root import (
    test_a_holder_on_another_host_is_fenced_out_once_it_is_silent as test_fencing,
)
from tests.storage.test_object_root import (
    test_a_pipeline_that_was_born_in_a_bucket_is_missed_there as test_a_missing_pipeline,
)
from tests.storage.test_object_root import (
    test_epochs_that_were_given_out_before_the_lease_was_lost_are_used_up as test_used_epochs,
)
from tests.storage.test_object_root import (
    test_of_processes_that_claim_a_folder_one_has_it as test_claims,
)
from tests.storage.test_object_root import (
    test_of_writers_at_the_same_time_one_wins as test_writers_at_the_same_time,
)
from tests.storage.test_object_root import (
    test_one_process_holds_the_lease_and_the_next_one_takes_the_next_epoch as test_the_lease,
)
from tests.storage.test_object_root import test_only_init_makes_a_root_in_a_bucket as test_init
from tests.storage.test_object_root import test_the_first_document_stays as test_documents
from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.objects.object_path import path_of

__all__ = [
    "test_a_missing_pipeline",
    "test_claims",
    "test_documents",
    "test_fencing",
    "test_init",
    "test_the_lease",
    "test_used_epochs",
    "test_writers_at_the_same_time",
]


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Path:
    return path_of(new_root_in_memory(monkeypatch))
