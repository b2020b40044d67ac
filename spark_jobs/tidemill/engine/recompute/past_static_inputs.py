"""The static inputs of past batches, as they were pinned then."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from tidemill.engine.sources.static_inputs import Statics, pin_statics, read_statics
from tidemill.ledger.batch import Batch
from tidemill.ledger.static_pins import StaticPin
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.spec import Spec
from tidemill.storage.run_context import RunContext

StaticsOf = Callable[[Mapping[str, StaticPin]], Statics]


@contextmanager
def past_statics(session: SparkSession, run: RunContext, last: Batch) -> Iterator[StaticsOf]:
    """Static inputs by the pins of a batch; one that it did not read is as the last batch read it.

    One that this did not read either is taken as it is now, for as long as the context lasts.

    Args:
        last: The last batch that counts.
    """
    pipeline, spec = run.pipeline, run.pipeline.spec
    known = {n: p for n, p in last.static.items() if n in spec.statics and _is_of(spec, n, p)}
    new = [name for name in spec.statics if name not in known]
    with TemporaryDirectory(prefix="tidemill-static-") as folder:
        fresh: Statics = {}
        if new:
            run.log(
                f"statics {', '.join(new)}: no batch has read them, so they are taken as of now"
            )
            alone = _with_statics(pipeline, new)
            root = pipeline.layout.root
            fresh = read_statics(
                session, alone, pin_statics(alone, Path(folder), root), Path(folder)
            )

        def statics(pins: Mapping[str, StaticPin]) -> Statics:
            own = {n: pin for n, pin in pins.items() if n in known and _is_of(spec, n, pin)}
            then = _with_statics(pipeline, known)
            return {**read_statics(session, then, {**known, **own}), **fresh}

        yield statics


def _is_of(spec: Spec, name: str, pin: StaticPin) -> bool:
    """Whether a static input comes from where it came from then."""
    return spec.statics[name].kind == pin.kind


def _with_statics(pipeline: Pipeline, names: Iterable[str]) -> Pipeline:
    """A pipeline with some of its static inputs only."""
    statics = {name: pipeline.spec.statics[name] for name in names}
    return replace(pipeline, spec=pipeline.spec.model_copy(update={"statics": statics}))
