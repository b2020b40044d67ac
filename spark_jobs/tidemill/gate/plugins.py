"""Imports the user's own code of Great Expectations, as the plugins of their project."""

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tidemill.gate.suite import SuiteError

# The one folder that is importable now: two projects may have plugins of one name.
_entered: list[Path] = []


def import_plugins(folder: Path, files: Iterable[Path]) -> None:
    """Run files of a plugins directory, which is importable from then on.

    Spark gets what they define by value, so that executors need no file of the driver's.

    Raises:
        SuiteError: a file does not run, or Python finds another module of its name.
    """
    _enter(folder)
    for path in files:
        _import(folder, path)
    from pyspark import cloudpickle

    for module in _modules_of(folder):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _import(folder: Path, path: Path) -> None:
    parts = path.relative_to(folder).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    try:
        with _no_bytecode():
            module = importlib.import_module(name)
    except Exception as error:
        raise SuiteError(
            f"{path} does not load: {type(error).__name__}: {error}",
            remedy="Fix it; `tidemill check` loads it as the gate does.",
            path=path,
        ) from error
    if module.__file__ is None or Path(module.__file__).resolve() != path:
        raise SuiteError(
            f"{path} cannot be imported: '{name}' is already {module.__file__}.",
            remedy="Give the file another name.",
            path=path,
        )


def _enter(folder: Path) -> None:
    if _entered == [folder]:
        return
    for old in _entered:
        for module in _modules_of(old):
            del sys.modules[module.__name__]
        # Great Expectations adds it once more when it opens the project.
        sys.path[:] = [one for one in sys.path if Path(one) != old]
    # Last, as Great Expectations does it: what is installed wins.
    sys.path.append(str(folder))
    _entered[:] = [folder]
    importlib.invalidate_caches()


def _modules_of(folder: Path) -> list[ModuleType]:
    return [
        module
        for module in list(sys.modules.values())
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(folder)
    ]


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """Leaves no bytecode in the user's folder, which may be read-only."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
