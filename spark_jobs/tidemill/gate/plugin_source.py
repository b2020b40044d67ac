"""The user's own expectations as their source has them: none of it is run."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_SPARK = "SparkDFExecutionEngine"
_WORD = re.compile(r"(.)([A-Z][a-z]+)")
_LAST_WORD = re.compile(r"([a-z0-9])([A-Z])")


def defined_expectations(files: Iterable[Path]) -> dict[str, Path]:
    """Type -> the file of the class that Great Expectations names it after."""
    return {
        _type_of(node.name): path
        for path in files
        for node in _classes(path)
        if node.name.startswith("Expect")
    }


def metric_without_spark(kind: str, path: Path, files: Iterable[Path]) -> str | None:
    """The metric of an expectation that its project writes for other engines alone.

    Args:
        kind: The type of the expectation.
        path: The file that defines it.
        files: All plugins of the project.

    Returns:
        None where each is there for Spark, or where the source does not tell.
    """
    own = next((node for node in _classes(path) if _type_of(node.name) == kind), None)
    needed = set() if own is None else {*_texts(own, "map_metric", "metric_dependencies")}
    written: dict[str, bool] = {}
    for provider in (node for file in files for node in _classes(file)):
        for name in needed.intersection(_texts(provider, "condition_metric_name", "metric_name")):
            # One that inherits from a class of the user's own may have more than is seen here.
            plain = all(ast.unparse(base).endswith("MetricProvider") for base in provider.bases)
            here = not plain or _SPARK in ast.unparse(provider)
            written[name] = here or written.get(name, False)
    return next((name for name, on_spark in written.items() if not on_spark), None)


def _classes(path: Path) -> Iterator[ast.ClassDef]:
    try:
        module = ast.parse(path.read_bytes(), path)
    except (OSError, SyntaxError, ValueError):
        return
    yield from (node for node in ast.walk(module) if isinstance(node, ast.ClassDef))


def _texts(node: ast.ClassDef, *names: str) -> Iterator[str]:
    """The texts that attributes of a class are given."""
    for line in node.body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        value = getattr(line, "value", None)
        if value is not None and any(isinstance(t, ast.Name) and t.id in names for t in targets):
            for part in ast.walk(value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def _type_of(name: str) -> str:
    """`ExpectColumnValuesToBeEven` -> `expect_column_values_to_be_even`."""
    return _LAST_WORD.sub(r"\1_\2", _WORD.sub(r"\1_\2", name)).lower()
