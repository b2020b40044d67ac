"""A fork: a generation that continues from a published batch of another.

Its first batches are the other's: their documents are linked, their files stay where they are. The
rest is read again.
"""

import re
import uuid
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

from tidemill.compatibility.creation_snapshot import inherit_fingerprint
from tidemill.contract.clock import wall_clock
from tidemill.contract.layout import Layout
from tidemill.generations.build import GenerationBuild, clear_away
from tidemill.generations.generation import Generation
from tidemill.generations.verify import GenerationUnbound, rebuild_of
from tidemill.ledger.flushes import Flush, flushes
from tidemill.ledger.generation_note import GenerationNote, hash_of_file, hash_of_spec
from tidemill.ledger.ledger import Ledger
from tidemill.ledger.losses import PassedLoss
from tidemill.ledger.manifests import Manifest, put_manifest
from tidemill.ledger.ranges_read import sources_by_ranges
from tidemill.ledger.settle import inherit_settled
from tidemill.spark_logs.checkpoint_fork import ForkPointGone, cut, link
from tidemill.spark_logs.compactible_log import COMPACT, compactible_log
from tidemill.spark_logs.sink_log import METADATA_DIRECTORY
from tidemill.spec.pipeline import Pipeline
from tidemill.storage import documents
from tidemill.storage.sync import sync

# An entry of the sink's log that names no file.
NO_FILES = "v1"
# All of it, for it is about sources and not about batches.
WHOLE = ("sources", "topics", "arrivals")
BY_BATCH = re.compile(r"([0-9]{6,})\.(json|parquet)")


def build_fork(
    pipeline: Pipeline,
    generation: Generation,
    name: str,
    first: int,
    *,
    shortened: Container[str] = (),
    same_code: bool = False,
    draft: Layout | None = None,
    bound: Layout | None = None,
) -> None:
    """Build a generation whose next batch is an earlier one of another; it does not run yet.

    Args:
        generation: The one to go on from, whose parts agree.
        name: The new generation's name; it has no files yet.
        first: The batch that is next.
        shortened: The file sources whose log is cut to what Spark must know of it.
        same_code: Whether it goes on with the code of the other; if not, with today's.
        draft: The folders that it is written to; those of the pipeline where not given.
        bound: The folders that the draft becomes once it is whole; itself where not given.

    Raises:
        ForkPointGone: the checkpoint has forgotten the batch before.
    """
    layout, note = pipeline.layout, generation.note
    draft = draft or layout
    bound = bound or draft
    query_id = str(uuid.uuid4())
    kafka = sources_by_ranges(layout, generation.name)
    # A pipeline of its own also has the books of the batches before.
    ledgers = {name} if draft == layout else {name, generation.name}
    for one in ledgers:
        _link_ledger(generation, draft.ledger(one), first)
    if first and note is not None:
        _begin_sink(generation, note, draft.sink(name), first)
    cut(generation.checkpoint, draft.checkpoint(name), first, query_id, kafka, shortened)
    # Once it has taken over, nothing else has this.
    built = (*map(draft.ledger, ledgers), draft.sink(name), draft.checkpoint(name))
    sync((path for folder in built for path in folder.rglob("*") if path.is_file()), draft.root)
    if first:
        inherit_settled(generation.ledger.folder, draft.ledger(name), first - 1)
        Ledger(draft, name).settle()
    if not first:
        # With nothing to go on from it is born like a first one, when its query starts.
        return
    if note is None:
        raise GenerationUnbound(
            f"{layout.note(generation.name)} is missing.",
            remedy="Restore it from a backup, or compute everything from the beginning: "
            f"{rebuild_of(layout.name)}.",
            note=layout.note(generation.name),
        )
    born = note.model_copy(
        update={
            "generation": name,
            "query_id": query_id,
            "checkpoint": bound.checkpoint(name),
            "sink": bound.sink(name),
            **({} if same_code else _code_of_today(pipeline)),
            "born": wall_clock(),
        }
    )
    documents.put_if_absent(draft.note(name), born)
    inherit_fingerprint(layout, generation.name, born, draft)


def build_fork_from(
    pipeline: Pipeline, sources: Iterable[Generation], built: GenerationBuild, first: int
) -> None:
    """Build a fork from the first of some places that still holds what the batch before left.

    Args:
        sources: The live generation, with its checkpoint as it is or as a snapshot has it.
        built: The new generation; what an earlier try left of it is removed.
        first: As in `build_fork`.

    Raises:
        ForkPointGone: none of them holds it; that of the first.
    """

    def build(source: Generation) -> None:
        clear_away(pipeline.layout, built)
        build_fork(pipeline, source, built.generation, first)

    from_the_first(sources, build)


def from_the_first(sources: Iterable[Generation], build: Callable[[Generation], None]) -> None:
    """Build from the first of some places that holds what the batch before left.

    Raises:
        ForkPointGone: none of them holds it; that of the first.
    """
    missing: ForkPointGone | None = None
    for source in sources:
        try:
            build(source)
        except ForkPointGone as error:
            missing = missing or error
        else:
            return
    if missing is not None:
        raise missing


def _code_of_today(pipeline: Pipeline) -> dict[str, str]:
    return {
        "spec_hash": hash_of_spec(pipeline.spec),
        "code_hash": hash_of_file(pipeline.transform_file),
    }


def dropped_flushes(generation: Generation, first: int) -> list[Flush]:
    """The flushes that a fork does not repeat: what came after their batches comes before now."""
    found = flushes(generation.ledger.layout, generation.name)
    return [flush for flush in found if flush.batch >= first]


def _link_ledger(generation: Generation, to: Path, first: int) -> None:
    ledger = generation.ledger
    starts = sorted(documents.numbers(ledger.start_folder))
    if first <= ledger.latest():
        # What came after the fork is not its own.
        used = {batch.start for batch in ledger.batches(last=first - 1)}
        starts = [number for number in starts if number in used]
    kept = [Path("starts") / f"{number:06d}.json" for number in starts]
    for name in WHOLE:
        kept += _below(ledger.folder, Path(name))
    for folder in ("flushes", "late"):
        kept += (p for p in _below(ledger.folder, Path(folder)) if _batch_of(p) < first)
    kept += (
        p for p in _below(ledger.folder, Path("losses")) if _was_passed(ledger.folder, p, first)
    )
    kept += (Path(f"{number:06d}.json") for number in range(first))
    for path in kept:
        link(ledger.folder / path, to / path)


def _below(folder: Path, name: Path) -> Iterator[Path]:
    for path in sorted((folder / name).rglob("*")):
        if path.is_file() and not path.relative_to(folder).parts[1].startswith("."):
            yield path.relative_to(folder)


def _batch_of(path: Path) -> int:
    """The batch that a document, or a file of a folder, is named by."""
    found = BY_BATCH.fullmatch(path.parts[1])
    return -1 if found is None else int(found[1])


def _was_passed(folder: Path, path: Path, first: int) -> bool:
    """Whether a document of a loss holds for the fork: not that a later batch passed over it."""
    if path.parent.name != "passed":
        return True
    passed = documents.read(folder / path, PassedLoss)
    return passed is not None and (passed.batch is None or passed.batch < first)


def _begin_sink(generation: Generation, note: GenerationNote, to: Path, first: int) -> None:
    """Let the sink go on at a batch: what came before is in its record, without a file."""
    if note.writes == "files":
        _begin_log(generation, to / METADATA_DIRECTORY, first)
    elif note.writes == "attempts":
        last = generation.ledger.batches(first - 1, first - 1)[0]
        manifest = Manifest(
            batch=last.batch,
            attempt="attempt-forked",
            epoch=last.start,
            run_id=last.run_id,
            offsets=last.offsets,
            files=(),
            rows_in=last.rows_in,
            written=wall_clock(),
        )
        put_manifest(to, manifest)


def _begin_log(generation: Generation, to: Path, first: int) -> None:
    """Spark compacts every so many batches, and then wants every entry since the last time.

    It tells how many from the names of the last two compact files, so the names are the old ones.
    """
    log = compactible_log(generation.log.sink / METADATA_DIRECTORY)
    compact = [batch for batch in log.compact if batch < first]
    after = max(compact, default=-1) + 1
    if missing := [batch for batch in range(after, first) if batch not in log.plain]:
        raise ForkPointGone(
            f"{log.directory} has no entry of batch {missing[0]} any more.",
            remedy="Compute everything from the beginning: "
            f"tidemill rebuild {generation.ledger.layout.name} --reason TEXT.",
            batch=first - 1,
            missing=f"{METADATA_DIRECTORY}/{missing[0]}",
        )
    to.mkdir(parents=True, exist_ok=True)
    for name in [*(f"{n}{COMPACT}" for n in compact), *(str(n) for n in range(after, first))]:
        (to / name).write_text(NO_FILES, encoding="utf-8")
