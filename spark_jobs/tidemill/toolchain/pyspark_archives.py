"""The archives in which spark-submit hands PySpark to a Python that has it installed already.

Python does not keep what it compiles of an archive's modules: each start would compile them again,
which takes 0.6 CPU-seconds. Standard library only.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path


def without_pyspark_archives(path: Sequence[str]) -> list[str]:
    """A module search path without archives of packages that it names as installed ones too.

    Args:
        path: As `sys.path`. Archives of a Spark that was not installed as a Python package stay.
    """
    installed = {str(place) for place in _installed(path)}
    return [place for place in path if place not in installed]


def _installed(path: Sequence[str]) -> Iterator[Path]:
    """The archives in `pyspark/python/lib` below a folder of the path which has py4j, too."""
    for place in map(Path, path):
        if place.suffix != ".zip" or len(place.parts) < len(("pyspark", "python", "lib", "name")):
            continue
        package = place.parents[2]
        folder = package.parent
        has_both = (package / "__init__.py").is_file() and (folder / "py4j/__init__.py").is_file()
        if place.parts[-4:-1] == ("pyspark", "python", "lib") and has_both and str(folder) in path:
            yield place
