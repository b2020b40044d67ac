"""Infers a schema from a sample of a pipeline's source, or of any files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidemill.contract.errors import UsageError
from tidemill.contract.layout import PIPELINE_NAME, Layout
from tidemill.contract.project import Project
from tidemill.sources.files.listing import list_source
from tidemill.spec.formats.table import FORMATS
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.sinks import ConsoleSink
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

if TYPE_CHECKING:
    from tidemill.engine.infer_schema import Inferred


class NothingToInferFrom(UsageError):
    """There is no file to infer from, or its format is unknown."""


def infer(
    given: Sequence[str],
    *,
    format: str | None,
    options: Mapping[str, str],
    source: str | None,
    most_files: int,
    environ: Mapping[str, str] = os.environ,
) -> tuple[Inferred, list[Path]]:
    """Let Spark infer a schema.

    Args:
        given: The name of a pipeline, or files and folders.
        format: The format of the files; a pipeline says it itself.
        options: For Spark's reader, over those of a pipeline's source.
        most_files: The most files to take, newest first.

    Returns:
        The schema, and the files it comes from.

    Raises:
        NothingToInferFrom: there is no file, no format or no such source.
        QueryFailed: Spark cannot read them.
    """
    if len(given) == 1 and PIPELINE_NAME.fullmatch(given[0]) and not Path(given[0]).exists():
        pipeline = open_pipeline(given[0], environ)
        chosen = _source_of(pipeline, source)
        _refuse_unknown(chosen.format, options)
        found = [file.path for file in list_source(chosen).files]
        format, options = chosen.format, {**chosen.reader_options, **options}
    else:
        if format is None:
            raise NothingToInferFrom(
                "The format of the files is unknown.", remedy="Add --format csv."
            )
        found = [file for one in given for file in _files(Path(one))]
        _refuse_unknown(format, options)
        pipeline = _alone(format, options)
        options = {**FORMATS[format].reader_defaults, **options}
    if not found:
        raise NothingToInferFrom(
            f"There is no file in {', '.join(given)}.", remedy="Give files that hold some rows."
        )
    newest = sorted(found, key=lambda path: path.stat().st_mtime)[-most_files:]
    # The header is not held against a schema that is yet to be found.
    options = {name: value for name, value in options.items() if name.lower() != "enforceschema"}
    return _inferred(pipeline, format, options, newest), newest


def _inferred(
    pipeline: Pipeline, format: str, options: Mapping[str, str], files: Sequence[Path]
) -> Inferred:
    # Spark is imported here so that a wrong call never loads it.
    from pyspark.errors import PySparkException

    from tidemill.engine import infer_schema as engine
    from tidemill.engine.session import open_session
    from tidemill.engine.spark_errors import from_spark

    session = open_session(pipeline, "infer", sum(path.stat().st_size for path in files))
    try:
        return engine.infer(session, format, options, [str(path) for path in files])
    except PySparkException as error:
        raise from_spark(error) from error


def _source_of(pipeline: Pipeline, name: str | None) -> FileSource:
    sources = pipeline.spec.sources_of(FileSource)
    wanted = [name] if name is not None else list(sources)
    if len(wanted) != 1 or wanted[0] not in sources:
        raise NothingToInferFrom(
            f"'{pipeline.name}' has the file sources {', '.join(sources) or 'none'}.",
            remedy="Name one of them with --source, or give files.",
        )
    return sources[wanted[0]]


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        source = {"format": "text", "path": str(place.resolve()), "schema": "value string"}
        return [file.path for file in list_source(FileSource.model_validate(source)).files]
    return [place.resolve()] if place.is_file() else []


def _alone(format: str, options: Mapping[str, str]) -> Pipeline:
    """A pipeline of nothing but a format, for a session that can read it."""
    rules = FORMATS[format]
    missing = rules.option_missing(options)
    if missing:
        raise UsageError(
            f"{missing}.", remedy=f"Add --option {next(iter(rules.required))}=ORDER.", format=format
        )
    wanted = {name.lower() for name in rules.required}
    needed = {name: value for name, value in options.items() if name.lower() in wanted}
    source = {"format": format, "path": "/", "schema": "value string", "options": needed}
    spec = Spec(
        sources={"sample": FileSource.model_validate(source)}, sink=ConsoleSink(kind="console")
    )
    here = Path.cwd()
    return Pipeline("sample", spec, Project(here), Layout(here, "sample"))


def _refuse_unknown(format: str, options: Mapping[str, str]) -> None:
    rules = FORMATS[format]
    infers = {name.lower() for name in rules.inference_options}
    for name in options:
        refused = None if name.lower() in infers else rules.reader_option_refused(name)
        if refused:
            raise UsageError(f"--option: {refused}.", remedy="Correct it.", option=name)
