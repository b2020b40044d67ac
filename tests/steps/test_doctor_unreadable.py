"""Doctor: whatever it cannot read under the root is named, and nothing is passed over."""

from __future__ import annotations

from tests.support.doctor_report import refused
from tests.support.file_modes import modes_count
from tests.support.histories.history_builder import History


def test_each_folder_that_a_run_depends_on_is_named_where_it_cannot_be_read(
    published: History,
) -> None:
    layout = published.layout
    folders = (
        *(layout.journal, layout.increments, layout.lease, published.ledger.folder),
        *(published.sink / "_spark_metadata", published.checkpoint / "offsets"),
        *(layout.table / "_delta_log", layout.rejected / "_delta_log"),
        layout.journal / "000001.json",
    )
    for folder in folders:
        mode = folder.stat().st_mode
        folder.chmod(0)
        try:
            with modes_count():
                code, data = refused(published)
        finally:
            folder.chmod(mode)
        assert (code, str(folder) in str(data)) == ("NotPermitted", True), folder
