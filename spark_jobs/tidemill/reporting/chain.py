"""A pipeline's neighbours in a chain: the pipelines that it reads from, and those that read it."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import UsageError
from tidemill.reporting.standing import listed_pipelines, read_about
from tidemill.reporting.status_document import About, TableRead
from tidemill.sources.due import Due


class Link(FrozenModel):
    """A table that one pipeline publishes and another one reads.

    Attributes:
        pipeline: The neighbour: upstream the one that publishes, downstream the one that reads.
        dag_id: The DAG that runs the neighbour; None where it has no spec any more.
        input: The field of the reader's spec, such as `sources.orders`.
        due: What is due in the reader because of this table; None where nothing is.
    """

    pipeline: str
    dag_id: str | None
    input: str
    due: Due | None


class Chain(FrozenModel):
    """The neighbours of a pipeline."""

    upstream: tuple[Link, ...]
    downstream: tuple[Link, ...]

    @property
    def dag_ids(self) -> set[str]:
        """The DAGs of all neighbours that have a spec."""
        return {one.dag_id for one in (*self.upstream, *self.downstream) if one.dag_id is not None}

    def among(self, dag_ids: Collection[str]) -> "Chain":
        """The neighbours that some DAGs run."""
        return Chain(
            upstream=tuple(one for one in self.upstream if one.dag_id in dag_ids),
            downstream=tuple(one for one in self.downstream if one.dag_id in dag_ids),
        )


def read_abouts(root: Path) -> dict[str, About]:
    """Pipeline -> what its spec says; of two with the same name, the first one."""
    found: dict[str, About] = {}
    with suppress(UsageError):
        for spec in listed_pipelines():
            found[spec.name] = read_about(root, spec)
    return found


def chains_of(
    names: Iterable[str],
    abouts: Mapping[str, About],
    due_in: Callable[[str], Sequence[Due]],
) -> dict[str, Chain]:
    """The chain of each of some pipelines.

    Args:
        abouts: Every pipeline -> what its spec says.
        due_in: `read_due`, which may be asked for one pipeline several times.
    """
    read_by = {reader: about.tables_read or () for reader, about in abouts.items()}
    readers: defaultdict[str, list[tuple[str, TableRead]]] = defaultdict(list)
    for reader, tables in read_by.items():
        for read in tables:
            readers[read.pipeline].append((reader, read))

    def link(neighbour: str, reader: str, read: TableRead) -> Link:
        part, _, own = read.input.partition(".")
        due = [one for one in due_in(reader) if one.source == own] if part == "sources" else []
        return Link(
            pipeline=neighbour,
            dag_id=abouts[neighbour].dag_id if neighbour in abouts else None,
            input=read.input,
            due=next(iter(due), None),
        )

    return {
        name: Chain(
            upstream=tuple(link(read.pipeline, name, read) for read in read_by.get(name, ())),
            downstream=tuple(link(reader, reader, read) for reader, read in readers[name]),
        )
        for name in names
    }
