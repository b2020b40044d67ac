"""Compares today's plan with that of the generation's creation, both analysed by one Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidemill.compatibility.change import Change, refuse
from tidemill.compatibility.compare import Born, born_of, has_passed, record_compatible
from tidemill.compatibility.plan_changes import plan_changes
from tidemill.contract.errors import TidemillError
from tidemill.contract.project import Project
from tidemill.engine.shape.transform_shape import shape_today, table_schema
from tidemill.engine.spark_errors import from_spark
from tidemill.ledger.generation_note import GenerationNote
from tidemill.spec.pipeline import Pipeline


def refuse_changed_plan(
    session: SparkSession, pipeline: Pipeline, note: GenerationNote | None
) -> None:
    """Refuse spec and code with which a generation cannot go on; under the lease.

    Args:
        note: The note of the generation; None before its birth.

    Raises:
        QueryChanged: something has changed that may not.
        SpecError: schema, expressions or transform do not fit together.
        QueryFailed: Spark refuses today's plan.
    """
    if note is None or has_passed(pipeline, note.generation):
        return
    born = born_of(pipeline, note)
    if born is None or born.unchanged:
        return
    changes = born.spec_changes()
    refuse(changes, note.generation, pipeline.spec_file)
    changes += changes_of_plan(session, born)
    refuse(changes, note.generation, pipeline.spec_file)
    record_compatible(pipeline, note.generation, changes)


def changes_of_plan(session: SparkSession, born: Born) -> list[Change]:
    """Every change of the plan.

    Args:
        born: The generation, and the pipeline of today.

    Raises:
        SpecError: today's schema, expressions and transform do not fit together.
        QueryFailed: Spark refuses today's plan.
    """
    if born.same_plan:
        return []
    try:
        now = shape_today(session, born.pipeline)
    except PySparkException as error:
        raise from_spark(error) from error
    try:
        with _at_birth(born) as pipeline:
            was = shape_today(session, pipeline)
    except (TidemillError, PySparkException) as error:
        return [_unknown(born, error)]
    table = table_schema(born.pipeline.layout.table) if born.pipeline.spec.published else None
    columns = None if table is None else {f.name: f.dataType.simpleString() for f in table.fields}
    changes = plan_changes(born.judge, was, now, columns)
    return changes if changes or born.same_code else [born.code_change()]


@contextmanager
def _at_birth(born: Born) -> Iterator[Pipeline]:
    """The pipeline with spec and code of its birth; what its user shares with others is today's."""
    today = born.pipeline
    with TemporaryDirectory(prefix="tidemill-born-") as scratch:
        project = Project(Path(scratch))
        # Its code is a file here, wherever it was found.
        spec = born.spec.model_copy(update={"transform": None})
        pipeline = Pipeline(today.name, spec, project, today.layout)
        code = pipeline.transform_file.with_suffix(born.fingerprint.suffix)
        code.parent.mkdir(parents=True)
        code.write_text(born.fingerprint.code, encoding="utf-8")
        for name, text in born.fingerprint.helpers.items():
            helper = code.parent / name
            helper.parent.mkdir(parents=True, exist_ok=True)
            helper.write_text(text, encoding="utf-8")
        shared = today.project.home / "spark_jobs" / "data_sources"
        if shared.is_dir():
            (project.home / "spark_jobs" / "data_sources").symlink_to(shared)
        yield pipeline


def _unknown(born: Born, error: Exception) -> Change:
    was, now = f"code that cannot be analysed any more ({type(error).__name__})", "other code"
    if born.judge.keeps_state:
        means = "whether its state can be read by the new code cannot be told"
        return born.judge.not_allowed("transform", was, now, means)
    return born.judge.consequences(
        "transform", was, now, "rows of before were made by the old code"
    )
