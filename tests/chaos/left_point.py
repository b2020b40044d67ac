"""At which point of Spark's protocol a pipeline was when its driver was killed, by what it left."""

from __future__ import annotations

from pathlib import Path

from tidemill.contract.layout import FIRST_GENERATION, Layout

DONE = "done"
IDLE = "not begun"


def left_point(layout: Layout, since: float, run_id: str) -> str:
    """The point, `done` if its ingest had ended, or `not begun`.

    Args:
        since: When the killed process was started, as files' times are.
        run_id: The run whose ingest it was.
    """
    if (layout.run(run_id) / "ingest.json").exists():
        return DONE
    checkpoint, sink = layout.checkpoint(FIRST_GENERATION), layout.sink(FIRST_GENERATION)
    offsets, commits = checkpoint / "offsets", checkpoint / "commits"
    planned, committed = _newest(offsets), _newest(commits)
    if planned > committed:
        return _within_batch(checkpoint, sink, planned, since)
    if _drafts(offsets, since):
        return "K2"
    if any(_drafts(log, since, ".compact") for log in _source_logs(checkpoint)):
        return "K11"
    if any(_drafts(log, since) or _newest(log) > planned for log in _source_logs(checkpoint)):
        return "K1"
    if committed > _newest(layout.ledger(FIRST_GENERATION)):
        return "K9"
    began = any(path.stat().st_mtime >= since for path in _below(layout.lease))
    return "between batches" if began else IDLE


def _within_batch(checkpoint: Path, sink: Path, batch: int, since: float) -> str:
    log, attempts = sink / "_spark_metadata", sink / f"batch={batch}"
    if _drafts(checkpoint / "commits", since):
        return "K8"
    if _newest(log) >= batch or (attempts / "_manifest.json").exists():
        return "K7"
    if _drafts(log, since, ".compact"):
        return "K11"
    if _drafts(log, since) or _drafts(attempts, since):
        return "K6"
    written = [
        path
        for path in (sink.rglob("*.parquet") if sink.is_dir() else ())
        if not path.name.startswith(".") and path.stat().st_mtime >= since
    ]
    if not written:
        return "K3"
    newest = max(written, key=lambda path: path.stat().st_mtime)
    return "K5" if newest.read_bytes()[-4:] == b"PAR1" else "K4"


def _below(folder: Path) -> list[Path]:
    return [*folder.iterdir()] if folder.is_dir() else []


def _source_logs(checkpoint: Path) -> list[Path]:
    return _below(checkpoint / "sources")


def _newest(folder: Path) -> int:
    names = [path.name.split(".")[0] for path in _below(folder)]
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def _drafts(folder: Path, since: float, part: str = "") -> list[Path]:
    """The files that were being written."""
    return [
        path
        for path in _below(folder)
        if path.name.startswith(".")
        and path.name.endswith((".tmp", ".draft"))
        and part in path.name
        and path.stat().st_mtime >= since
    ]
