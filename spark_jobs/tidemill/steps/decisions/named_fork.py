"""Fork under another name: a new pipeline goes on from a published batch of another one.

It begins with the state and offsets of that batch and an empty table, and reads the source from
there, so that new code can be tried on yesterday's state. The original is only read, under its
lease. The new folder gets its name when it is whole; spec, transform and suite come after it, the
spec last: without it no run begins, and without the folder a run would read everything again.
"""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.os_user import os_user
from tidemill.contract.project import SHIPPED
from tidemill.generations.checkpoint_snapshot import places_to_fork_from
from tidemill.generations.fork import build_fork, from_the_first
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.increments.exclusions import excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover, next_generation, put_takeover
from tidemill.spec.catalog import spec_files
from tidemill.spec.each import is_template
from tidemill.spec.effective import name_of
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.steps.decisions.copy_pipelines import refuse_reaching_out
from tidemill.steps.decisions.release import PATIENCE_SECONDS
from tidemill.steps.decisions.rename import NameTaken
from tidemill.storage import documents
from tidemill.storage.disk_errors import disk_errors
from tidemill.storage.lease import newest_epoch, release
from tidemill.storage.root_identity import is_registered
from tidemill.storage.run_context import RunContext
from tidemill.storage.sync import make_folder, put_whole, sync, sync_folder

# Copies of what batches were joined with or decoded by, and what was erased for good.
COPIED = ("static", "schemas", "erasures")


class NotForkable(UsageError):
    """A pipeline has no published batch that a fork could go on from; carries `pipeline`."""


class RecordsExcluded(Refused):
    """A fork would read records that a person has rejected; carries `increments`."""


class SpecNotCopied(UsageError):
    """A spec cannot be copied under another name; carries `path`."""


@dataclass(frozen=True)
class NamedForkPlan:
    """What a fork under another name would do.

    Args:
        new: The folders of the fork.
        generation: The live generation of the original.
        first: The first batch that the fork runs itself.
        files: The files of the project that are to be written, with their contents; the spec last.
        built: Whether the folder is there already, as an interrupted fork left it.
    """

    new: Layout
    generation: str
    first: int
    files: Mapping[Path, str]
    built: bool

    def phrases(self) -> Iterator[str]:
        """What would be done, as phrases."""
        if not self.built:
            yield (
                f"create {self.new.home}, which goes on after batch {self.first - 1} of "
                f"{self.generation}, with an empty table"
            )
        for path in self.files:
            yield f"write {path}"


def plan_named_fork(pipeline: Pipeline, other: str, at: str | None = None) -> NamedForkPlan:
    """Find out what a fork under another name would do; nothing is changed.

    Args:
        other: The name of the fork.
        at: The run whose last batch it goes on from; the last published batch where not given.

    Raises:
        NameTaken: the name is another pipeline's.
        NotForkable: no such batch is published.
        CopyReachesOut: runs of the fork would change what is the original's.
        RecordsExcluded: records that a person has rejected would be read.
        SpecNotCopied: the fork has no spec, and that of the original cannot be copied.
        Refused: the parts of the original do not agree.
    """
    new = Layout(pipeline.layout.root, other)
    origin = _origin(new)
    spec = _spec_of(other)
    fork = replace(pipeline, name=other, layout=new, spec=spec or pipeline.spec)
    files = {} if spec is not None else _files(pipeline, other)
    if origin is not None and origin.pipeline == pipeline.name and files:
        return NamedForkPlan(new, origin.predecessor, origin.first, files, built=True)
    if new == pipeline.layout or new.home.exists() or is_registered(new):
        raise NameTaken(
            f"{pipeline.name} cannot be forked: '{other}' is, or was, a pipeline of this root.",
            remedy="Choose another name.",
            name=other,
        )
    refuse_reaching_out(
        fork,
        set(fork.spec.tables_read.values()),
        f"Write the spec of {other} without it first, beside that of {pipeline.name}.",
    )
    history, generation = Snapshot(pipeline.layout), open_generation(pipeline)
    last = _last(pipeline, history, generation, at)
    _refuse_excluded_records(pipeline, history, last + 1)
    return NamedForkPlan(new, generation.name, last + 1, files, built=False)


def named_fork(
    run: RunContext, other: str, at: str | None = None, *, by: str, reason: str
) -> NamedForkPlan:
    """Fork a pipeline under another name, or go on with what was interrupted.

    Args:
        other: The name of the fork.
        at: As in `plan_named_fork`.

    Raises:
        LeaseHeld: a step is writing to the original.
        ForkPointGone: Spark has forgotten the batch, and no snapshot has it.
        Refused: as `plan_named_fork`.
    """
    pipeline = run.pipeline
    with run.hold("checkpoint fork", patience=PATIENCE_SECONDS):
        plan = plan_named_fork(pipeline, other, at)
        if not plan.built:
            with disk_errors(plan.new.home):
                _build(pipeline, plan, by, reason)
    for path, text in plan.files.items():
        make_folder(path.parent)
        put_whole(path, text)
    return plan


def _build(pipeline: Pipeline, plan: NamedForkPlan, by: str, reason: str) -> None:
    layout = pipeline.layout
    draft = Layout(layout.root / ".tidemill" / "forks" / layout.name, plan.new.name)
    generation, history = open_generation(pipeline), Snapshot(layout)
    name = next_generation(layout)

    def build(source: Generation) -> None:
        # A killed process, or a place that lacks something, left it.
        shutil.rmtree(draft.home, ignore_errors=True)
        build_fork(pipeline, source, name, plan.first, same_code=True, draft=draft, bound=plan.new)

    from_the_first(places_to_fork_from(generation, plan.first - 1), build)
    copies = []
    # A start in the ledger is named by its epoch, so that the fork's epochs go on from there.
    for folder in (layout.lease, *(layout.home / part for part in COPIED)):
        if folder.is_dir():
            place = draft.home / folder.relative_to(layout.home)
            shutil.copytree(folder, place, dirs_exist_ok=True)
            copies += [path for path in place.rglob("*") if path.is_file()]
    if epoch := newest_epoch(draft.lease):
        # Its holder writes to the original.
        release(draft.lease, epoch)
    takeover = Takeover(
        generation=name,
        kind="fork",
        pipeline=pipeline.name,
        predecessor=generation.name,
        first=plan.first,
        excludes=tuple(sorted(excluded(history).files, key=lambda one: (one.source, one.path))),
        by=by,
        os_user=os_user(),
        reason=reason,
        born=wall_clock(),
    )
    put_takeover(draft, takeover)
    sync(copies, draft.home)
    draft.home.rename(plan.new.home)
    sync_folder(layout.root)


def _last(pipeline: Pipeline, history: Snapshot, generation: Generation, at: str | None) -> int:
    """The last batch of the original that counts for the fork."""
    name, last = pipeline.name, history.last_published(generation.name)
    note = generation.note
    if not pipeline.spec.published or note is None or note.writes == "nothing" or last < 0:
        raise NotForkable(
            f"{name} has published no batch that another pipeline could go on from.",
            remedy=f"Publish something first: tidemill run {name}. A pipeline that is to read "
            "everything from the beginning needs no fork.",
            pipeline=name,
        )
    if at is None:
        return last
    own = [one.batch for one in generation.ledger.batches(last=last) if one.run_id == at]
    if not own:
        raise NotForkable(
            f"{generation.name} of {name} has published no batch of run {at}.",
            remedy=f"`tidemill checkpoint show {name}` lists the runs.",
            pipeline=name,
        )
    return max(own)


def _refuse_excluded_records(pipeline: Pipeline, history: Snapshot, first: int) -> None:
    if not excluded(history).ranges:
        return
    again = [
        one.number
        for one in history.increments
        if one.rejection is not None
        and one.sealed.covers.generation == history.generation
        and one.sealed.covers.last >= first
    ]
    if again:
        raise RecordsExcluded(
            f"A fork of {pipeline.name} would read the records of rejected increments again: "
            f"{', '.join(f'{number:06d}' for number in again)}.",
            remedy="Fork after a later increment is published, without --at: tidemill run "
            f"{pipeline.name}.",
            increments=again,
        )


def _origin(new: Layout) -> Takeover | None:
    """The takeover that a fork under this name began with; None for any other pipeline."""
    found = documents.read(new.generations / "000001.json", Takeover)
    return found if found is not None and found.pipeline is not None else None


def _spec_of(name: str) -> Spec | None:
    found = next((one for one in spec_files() if one.name == name), None)
    return None if found is None else found.load()


def _files(pipeline: Pipeline, other: str) -> dict[Path, str]:
    """The files of the fork that are not there, with the original's contents."""
    spec, source = pipeline.spec, pipeline.spec_file
    place = source.with_name(f"{other}.yaml")
    if is_template(source) or name_of(place) != other or pipeline.project.home == SHIPPED:
        raise SpecNotCopied(
            f"{source} cannot be copied as the spec of {other}.",
            remedy=f"Write spec, transform and suite of {other} yourself; tidemill render "
            f"{pipeline.name} shows the whole spec.",
            path=source,
        )
    texts = {}
    if spec.transform is None:
        file = pipeline.transform_file
        texts[file.with_name(other + file.suffix)] = file
    if spec.gate.suite is None and spec.published:
        texts[pipeline.suite_file.with_name(f"{other}.json")] = pipeline.suite_file
    texts[place] = source
    return {
        to: file.read_text(encoding="utf-8")
        for to, file in texts.items()
        if file.is_file() and not to.exists()
    }
