"""Imports Great Expectations without the libraries that few expectations use.

Half of its import goes to the charts of Altair, the statistics of SciPy, Spark's machine learning
and Spark Connect. The first three are imported when an expectation first uses them. Tidemill uses
no Spark Connect, and to Great Expectations it is absent, as where its packages are not installed.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_LIBRARY = "great_expectations"
_CHARTS = "great_expectations.expectations.core.expect_column_kl_divergence_to_be_less_than"
_SPARK = "great_expectations.compatibility.pyspark"
ATTRIBUTES = (
    f"{_CHARTS}:alt",
    f"{_CHARTS}:stats",
    f"{_SPARK}:Bucketizer",
    f"{_SPARK}:ConnectDataFrame",
    f"{_SPARK}:SparkConnectSession",
)

ON_USE = ("altair", "scipy.stats")
BUCKETS = "pyspark.ml.feature"
ABSENT = ("pyspark.sql.connect.dataframe", "pyspark.sql.connect.session")


class _OnUse(ModuleType):
    """Stands for a module until one of its members is used."""

    def __getattr__(self, name: str) -> Any:
        # The import system asks for these, before anything is used.
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        member = getattr(import_module(self.__name__), name)
        setattr(self, name, member)
        return member


def import_great_expectations() -> None:
    """Import Great Expectations, if this process has not imported it yet."""
    if _LIBRARY not in sys.modules:
        with _left_out():
            import_module(_LIBRARY)


@contextmanager
def _left_out() -> Iterator[None]:
    """Keep what is not loaded yet from being loaded while the context lasts."""
    buckets = ModuleType(BUCKETS)
    buckets.Bucketizer = _bucketizer  # type: ignore[attr-defined]
    instead: dict[str, ModuleType | None] = {
        **{name: _OnUse(name) for name in ON_USE},
        BUCKETS: buckets,
        **dict.fromkeys(ABSENT),
    }
    instead = {name: module for name, module in instead.items() if name not in sys.modules}
    sys.modules.update(instead)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name, module in instead.items():
            if name in sys.modules and sys.modules[name] is module:
                del sys.modules[name]


def _bucketizer(*args: Any, **kwargs: Any) -> Any:
    return import_module(BUCKETS).Bucketizer(*args, **kwargs)
