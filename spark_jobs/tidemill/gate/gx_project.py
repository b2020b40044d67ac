"""The user's Great Expectations project: the folder with its settings, and their own expectations.

It is read from its files here, because importing Great Expectations costs seconds.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tidemill.compatibility.code_hash import hash_of_codes
from tidemill.contract.helper_modules import helper_files
from tidemill.gate.plugin_source import defined_expectations

SETTINGS = "great_expectations.yml"
# Where Great Expectations keeps its project, if it is not where the suites are.
_ELSEWHERE = "gx"
_FILES, _MEMORY = "TupleFilesystemStoreBackend", "InMemoryStoreBackend"


@dataclass(frozen=True)
class GxProject:
    """A project of Great Expectations.

    Args:
        folder: The folder of its `great_expectations.yml`, which need not be there.
    """

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / SETTINGS

    def settings(self) -> Mapping[str, Any]:
        """Its settings as they are written; nothing where it has none.

        Raises:
            ValueError: they are not YAML with keys.
        """
        try:
            read = yaml.safe_load(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from error
        if isinstance(read, dict):
            return read
        raise ValueError("it has no keys")

    def receives(self) -> bool:
        """Whether anything of it takes verdicts: a store that keeps them, a site, a checkpoint."""
        settings = self.settings()
        results = _backend(settings, "validation_results_store")
        checkpoints = _backend(settings, "checkpoint_store")
        if settings.get("data_docs_sites") or _keeps(results):
            return True
        if checkpoints.get("class_name") != _FILES:
            return _keeps(checkpoints)
        folder = self.folder / os.path.expandvars(str(checkpoints.get("base_directory", "")))
        return any(folder.rglob("*.json"))

    def plugins(self) -> Path:
        """The folder of the user's own code: its `plugins_directory`, or `plugins/`."""
        named = self.settings().get("plugins_directory") or "plugins"
        return (self.folder / os.path.expandvars(str(named))).resolve()

    def plugin_files(self) -> list[Path]:
        return sorted(self.plugins().rglob("*.py"))

    def own_expectations(self) -> dict[str, Path]:
        """Type -> the file of its class."""
        return defined_expectations(self.plugin_files())


def _backend(settings: Mapping[str, Any], store: str) -> Mapping[str, Any]:
    """The backend of the store that the settings name in a role; nothing where there is none."""
    stores = settings.get("stores") or {}
    named = stores.get(settings.get(f"{store}_name") or store) or {}
    return named.get("store_backend") or {}


def _keeps(backend: Mapping[str, Any]) -> bool:
    return str(backend.get("class_name", _MEMORY)) != _MEMORY


def project_of(suite: Path) -> GxProject:
    """The project that a suite belongs to.

    Args:
        suite: Such as `expectations/suites/shop_orders.json`.
    """
    beside = suite.parent.parent
    elsewhere = beside.parent / _ELSEWHERE
    found = next((one for one in (beside, elsewhere) if (one / SETTINGS).is_file()), beside)
    return GxProject(found)


def hash_of_plugins(files: Iterable[Path]) -> str:
    """The hash of files of plugins and of what they import beside them, whatever their layout."""
    codes = [
        hash_of_codes(
            path.read_bytes(),
            path.suffix,
            {name: one.read_text(encoding="utf-8") for name, one in helper_files(path).items()},
        )
        for path in sorted(set(files))
    ]
    return hashlib.sha256("\n".join(codes).encode()).hexdigest() if codes else ""
