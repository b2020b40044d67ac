"""The modules beside a user's file that it imports, each load of the file with its own.

They are in no `sys.modules`: two projects may have helpers of one name, a change counts at the next
load, and Spark pickles them by value, so that executors need no file of the driver's.
"""

import ast
import builtins
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

Execute = Callable[[ModuleType, Path], None]


def helper_files(path: Path) -> dict[str, Path]:
    """The files beside a file in Python that it imports, with those that they import.

    Args:
        path: The file; one that is missing, or not Python, imports nothing.

    Returns:
        Path relative to its folder -> the file; of a package that is imported all files.
    """
    found: dict[str, Path] = {}
    if path.suffix == ".py":
        _collect(path, path.parent, found)
        found.pop(path.name, None)
    return dict(sorted(found.items()))


def _collect(path: Path, folder: Path, found: dict[str, Path]) -> None:
    for name in _imported(path):
        for file in _files_of(name, folder):
            key = str(file.relative_to(folder))
            if key not in found:
                found[key] = file
                _collect(file, folder, found)


def _imported(path: Path) -> Iterator[str]:
    """The top-level names that a file imports, wherever it does."""
    try:
        module = ast.parse(path.read_bytes(), path)
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def _files_of(name: str, folder: Path) -> Sequence[Path]:
    if not _is_helper(name, folder):
        return ()
    package = folder / name
    return sorted(package.rglob("*.py")) if package.is_dir() else [folder / f"{name}.py"]


def _is_helper(name: str, folder: Path) -> bool:
    """Whether a top-level name is that of a file or package in a folder; what is installed wins."""
    package = folder / name
    there = (folder / f"{name}.py").is_file() or (package.is_dir() and any(package.glob("*.py")))
    return there and name not in sys.stdlib_module_names and not _is_elsewhere(name, folder)


def _is_elsewhere(name: str, folder: Path) -> bool:
    """Whether Python finds a module of this name in another place than the folder."""
    found = find_spec(name)
    if found is None:
        return False
    places = [found.origin] if found.origin else [*(found.submodule_search_locations or ())]
    return any(not Path(place).is_relative_to(folder) for place in places)


class HelperModules:
    """The helpers of one load of a file.

    Args:
        folder: The file's folder.
        execute: Runs a file in a module.
    """

    def __init__(self, folder: Path, execute: Execute) -> None:
        self._folder = folder
        self._execute = execute
        self._loaded: dict[str, ModuleType] = {}

    def give_to(self, module: ModuleType) -> None:
        """Let the imports of a module, which has not run yet, find them."""
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        package = (globals or {}).get("__package__") or ""
        whole = resolve_name("." * level + name, package) if level and package else name
        top = whole.partition(".")[0]
        if (level and not package) or (
            top not in self._loaded and not _is_helper(top, self._folder)
        ):
            return __import__(name, globals, locals, fromlist or (), level)
        module = self._load(whole)
        for one in fromlist or ():
            if not hasattr(module, one) and self._file(f"{whole}.{one}") is not None:
                self._load(f"{whole}.{one}")
        return module if fromlist else self._loaded[top]

    def _load(self, name: str) -> ModuleType:
        if name in self._loaded:
            return self._loaded[name]
        parent, _, own = name.rpartition(".")
        above = self._load(parent) if parent else None
        file = self._file(name)
        if file is None:
            msg = f"No module named {name!r} in {self._folder}"
            raise ModuleNotFoundError(msg, name=name)
        module = ModuleType(name)
        is_package = file.is_dir() or file.name == "__init__.py"
        module.__package__ = name if is_package else parent
        if is_package:
            module.__path__ = [str(file if file.is_dir() else file.parent)]
        self.give_to(module)
        self._loaded[name] = module
        if file.is_file():
            module.__file__ = str(file)
            self._execute(module, file)
        if above is not None:
            setattr(above, own, module)
        return module

    def _file(self, name: str) -> Path | None:
        """The file of a module, or the folder of a package without `__init__.py`."""
        place = self._folder.joinpath(*name.split("."))
        files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
        found = next((file for file in files if file.is_file()), None)
        return found or (place if place.is_dir() else None)
