"""A Python data source: rows of whatever has a class for `pyspark.sql.datasource`.

A class in the project's `spark_jobs/data_sources/<module>.py` goes to the executors by value, so
that a further kind of source is one file; a class of an installed package goes by its name.
"""

import importlib
import sys
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource

from tidemill.contract.errors import SpecError
from tidemill.contract.project import SHIPPED, Project
from tidemill.engine.sources.columns import CORRUPT, ORIGIN
from tidemill.engine.sources.spark_source import SparkSource
from tidemill.spec.column_types import quoted
from tidemill.spec.sources.python import PythonSource


@dataclass(frozen=True)
class SparkPythonSource(SparkSource[PythonSource]):
    """Rows of a `DataSource` class; what it gives is typed, and never malformed."""

    def stream(self, *, continuous: bool = False) -> DataFrame:
        """The new rows.

        Raises:
            SpecError: there is no such class, or it is not a data source.
        """
        field = f"sources.{self.name}.data_source"
        data_source = load_data_source(self.spec.data_source, self.pipeline.project, field)
        kind = _renamed(data_source, self.name)
        self.session.dataSource.register(kind)
        reader = self.session.readStream.name(self.name).format(kind.name()).schema(self.schema())
        rows = reader.options(**self.spec.reader_options).load()
        return rows.select(
            *map(quoted, self.spec.columns),
            F.lit(None).cast("string").alias(CORRUPT),
            F.lit(f"python:{self.name}").alias(ORIGIN),
        )


def load_data_source(named: str, project: Project, field: str) -> type[DataSource]:
    """The class that a spec names as `module:Class`.

    Args:
        named: As in the spec; a module of the project comes first, then one of this repository,
            then an installed one.
        field: The field of the spec, for the message.

    Raises:
        SpecError: there is no such class, it does not import, or it is not a `DataSource`.
    """
    module_name, _, class_name = named.partition(":")
    places = [one.data_source(module_name) for one in (project, Project(SHIPPED))]
    path = next((place for place in places if place.is_file()), places[0])
    try:
        module = _module_of(path) if path.is_file() else importlib.import_module(module_name)
    except Exception as error:
        raise SpecError(
            f"{field} '{named}' does not import ({error!r}).",
            remedy=f"Write the class in {path}, or install its package.",
            path=path,
            field=field,
        ) from error
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, DataSource)):
        raise SpecError(
            f"{field} '{named}' is not a subclass of pyspark.sql.datasource.DataSource.",
            remedy=f"Correct the name, or the class in {module.__file__}.",
            path=path,
            field=field,
        )
    return found


def _module_of(path: Path) -> ModuleType:
    name = f"tidemill_data_source_{path.stem}"
    spec: Any = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module


def _renamed(kind: type[DataSource], source: str) -> type[DataSource]:
    """The class under a name of its own: two of one name would replace each other in silence."""
    name = f"{kind.name()}.{source}"
    return type(kind.__name__, (kind,), {"name": classmethod(lambda _: name)})
