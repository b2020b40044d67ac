"""A user's Python file, read again each time."""

from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType


def load_module(name: str, path: Path) -> ModuleType:
    """A file as a module that no one else can import.

    Raises:
        Exception: whatever the file raises.
    """
    module = ModuleType(name)
    _Uncached(name, str(path)).exec_module(module)
    return module


class _Uncached(SourceFileLoader):
    """Reads the source each time, and leaves no bytecode in the user's folder.

    It may be read-only; and bytecode goes stale when a source is changed twice within a second.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)
