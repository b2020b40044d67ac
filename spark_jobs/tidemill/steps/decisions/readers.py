"""The pipelines whose specs read the table of another pipeline."""

import os
from collections.abc import Iterator, Mapping

from tidemill.contract.errors import TidemillError
from tidemill.spec.catalog import spec_files


def readers_of(name: str, environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The pipelines that read a pipeline's table; a spec that does not load tells nothing."""
    for file in spec_files(environ):
        try:
            spec = file.load(environ)
        except TidemillError:
            continue
        if file.name != name and name in spec.tables_read.values():
            yield file.name
