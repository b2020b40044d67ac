"""The plan of a fork under another name: where it begins, and which files it gets."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.project import SHIPPED
from tidemill.generations.generation import Generation
from tidemill.generations.verify import open_generation
from tidemill.increments.exclusions import excluded
from tidemill.increments.snapshot import Snapshot
from tidemill.journal.takeovers import Takeover
from tidemill.spec.catalog import spec_files
from tidemill.spec.each import is_template
from tidemill.spec.effective import name_of
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.steps.decisions.copy_pipelines import refuse_reaching_out
from tidemill.steps.decisions.named_fork_place import draft_on_its_way, is_free, name_taken
from tidemill.storage import documents
from tidemill.storage.root_identity import is_registered


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
        draft: The folders of the whole fork, where an interrupted one was on its way to its place.
    """

    new: Layout
    generation: str
    first: int
    files: Mapping[Path, str]
    built: bool
    draft: Layout | None = None

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
    draft = draft_on_its_way(pipeline.layout, new)
    origin = _origin(draft or new)
    spec = _spec_of(other)
    fork = replace(pipeline, name=other, layout=new, spec=spec or pipeline.spec)
    files = {} if spec is not None else _files(pipeline, other)
    if origin is not None and origin.pipeline == pipeline.name and (files or draft):
        built = draft is None
        return NamedForkPlan(new, origin.predecessor, origin.first, files, built, draft)
    if new == pipeline.layout or not is_free(new) or is_registered(new):
        raise name_taken(pipeline.name, new)
    refuse_reaching_out(
        fork,
        set(fork.spec.tables_read.values()),
        f"Write the spec of {other} without it first, beside that of {pipeline.name}.",
    )
    history, generation = Snapshot(pipeline.layout), open_generation(pipeline)
    last = _last(pipeline, history, generation, at)
    _refuse_excluded_records(pipeline, history, last + 1)
    return NamedForkPlan(new, generation.name, last + 1, files, built=False)


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
        to: _named(file.read_text(encoding="utf-8"), other)
        if file == pipeline.suite_file
        else file.read_text(encoding="utf-8")
        for to, file in texts.items()
        if file.is_file() and not to.exists()
    }


def _named(suite: str, name: str) -> str:
    """A suite under the name of its new file; one that cannot be read is the gate's to refuse."""
    try:
        content = json.loads(suite)
    except ValueError:
        return suite
    if not isinstance(content, dict) or "name" not in content:
        return suite
    return json.dumps({**content, "name": name}, indent=2, ensure_ascii=False) + "\n"
