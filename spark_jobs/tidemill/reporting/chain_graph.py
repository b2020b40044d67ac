"""The chain that a pipeline is a link of: all pipelines before and after it, and who reads whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from tidemill.reporting.status_document import About


@dataclass(frozen=True)
class ChainGraph:
    """Pipelines that read one another's tables.

    Attributes:
        layers: The pipelines, those that read none of the others first; each is in a later layer
            than those it reads.
        edges: Each pipeline with one that reads its table.
    """

    layers: tuple[tuple[str, ...], ...]
    edges: tuple[tuple[str, str], ...]

    @property
    def sentences(self) -> str:
        """The same as text."""
        return " ".join(
            f"{name} is read by {_listed(reader for one, reader in self.edges if one == name)}."
            for name in dict.fromkeys(one for one, _ in self.edges)
        )


def chain_graph(
    name: str, abouts: Mapping[str, About], dag_ids: Collection[str]
) -> ChainGraph | None:
    """The chain of a pipeline; None where it reads no other one's table and none reads its own.

    Args:
        abouts: Every pipeline -> what its spec says.
        dag_ids: The DAGs that the reader may see; what only others lead to is left out too.
    """
    shown = {one for one, about in abouts.items() if about.dag_id in dag_ids} | {name}
    every = {
        (read.pipeline, reader)
        for reader in shown & abouts.keys()
        for read in abouts[reader].tables_read or ()
        if read.pipeline in shown
    }
    found, known = {name}, set[str]()
    while found != known:
        known = found
        found = known | {one for edge in every if known & {*edge} for one in edge}
    edges = sorted(edge for edge in every if edge[0] in found)
    return ChainGraph(_layers(found, edges), tuple(edges)) if edges else None


def _layers(names: set[str], edges: Collection[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    layers, left = [], names
    while left:
        waiting = {reader for name, reader in edges if name in left}
        # A circle, which `tidemill check` names, has no first one.
        layer = left - waiting or left
        layers.append(tuple(sorted(layer)))
        left = left - layer
    return tuple(layers)


def _listed(names: Iterable[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last
