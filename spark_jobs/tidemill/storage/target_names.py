"""The names under which tables and targets know a pipeline: a rename changes neither.

A table counts batches, and a target keeps its head, under the name of the pipeline that wrote them.
Both go on with the first name, so that a rename has nothing to change there, and a killed one
leaves nothing half changed. Relocations tell which names a pipeline had.
"""

from collections.abc import Iterator

from tidemill.contract.layout import Layout
from tidemill.storage import documents
from tidemill.storage.relocations import Relocation, newest_relocation, relocation_file


def name_in_tables(layout: Layout) -> str:
    """The name under which the tables below a pipeline's folder count its batches."""
    first = documents.read(relocation_file(layout.home, 1), Relocation)
    return layout.name if first is None else first.origin.name


def name_in_targets(layout: Layout) -> str:
    """The name under which targets elsewhere know a pipeline: a copy is known by its own."""
    name: str | None = None
    for one in _relocations(layout):
        if one.copied:
            name = one.home.name
        elif name is None:
            name = one.origin.name
    return layout.name if name is None else name


def _relocations(layout: Layout) -> Iterator[Relocation]:
    for number in range(1, newest_relocation(layout.home) + 1):
        found = documents.read(relocation_file(layout.home, number), Relocation)
        if found is not None:
            yield found
