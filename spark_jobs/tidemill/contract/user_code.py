"""A user's Python file, read again each time."""

import ast
from collections.abc import Collection
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from tidemill.contract.helper_modules import HelperModules
from tidemill.contract.syntax.unrepeatable_python import Unrepeatable, unrepeatable_names


def load_module(name: str, path: Path) -> ModuleType:
    """A file as a module that no one else can import, with the modules beside it that it imports.

    Raises:
        Exception: whatever the file raises.
    """
    module = ModuleType(name)
    HelperModules(path.parent, _execute).give_to(module)
    _execute(module, path)
    return module


def _execute(module: ModuleType, path: Path) -> None:
    _Uncached(module.__name__, str(path)).exec_module(module)


def clock_or_chance(path: Path, without: Collection[str] = ()) -> list[Unrepeatable]:
    """What a file names that gives another value the next time; nothing where it is not Python.

    Args:
        without: Functions and classes of its top level that are not looked into.
    """
    try:
        module = ast.parse(path.read_bytes(), path)
    except (OSError, SyntaxError, ValueError):
        return []
    return unrepeatable_names(module, without)


class _Uncached(SourceFileLoader):
    """Reads the source each time, and leaves no bytecode in the user's folder.

    It may be read-only; and bytecode goes stale when a source is changed twice within a second.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)
