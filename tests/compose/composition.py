"""docker-compose.yaml as Compose reads it, with the variables of an `.env` file put in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tidemill.contract.project import REPOSITORY
from tidemill_airflow.local import compose_env

FILE = REPOSITORY / "docker-compose.yaml"
# `${NAME}`, or with what Compose says where it is not set; `$$` stands for a dollar sign.
VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+)(?P<otherwise>:\?[^}]*)?\})")


class Composition:
    """The services with their settings.

    Args:
        environ: The variables of `.env`.
        profiles: Those that `--profile` names.
    """

    def __init__(self, environ: Mapping[str, str], profiles: Collection[str] = ()) -> None:
        self.environ = environ
        services: dict[str, dict[str, Any]] = self._put_in(read()["services"])
        self.services = {
            name: service
            for name, service in services.items()
            if "profiles" not in service or {*profiles} & {*service["profiles"]}
        }

    def environment(self, service: str) -> dict[str, str]:
        """What its service sees beside the variables of its image."""
        return dict(self.services[service].get("environment", {}))

    def needs(self, service: str) -> dict[str, str]:
        """What it waits for: service -> condition."""
        asked = self.services[service].get("depends_on", {})
        return {other: options["condition"] for other, options in asked.items()}

    def in_order(self) -> Iterator[str]:
        """The services, each after those that it waits for."""
        seen: list[str] = []
        while len(seen) < len(self.services):
            ready = [s for s in self.services if s not in seen and self.needs(s).keys() <= {*seen}]
            assert ready, "services that wait for each other"
            seen += ready
            yield from ready

    def _put_in(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._put_in(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._put_in(item) for item in value]
        return VARIABLE.sub(self._of, value) if isinstance(value, str) else value

    def _of(self, found: re.Match[str]) -> str:
        return self.environ[found["name"]] if found["name"] else "$"


def read() -> dict[str, Any]:
    """The file as it is, with its anchors resolved."""
    return dict(yaml.safe_load(FILE.read_text(encoding="utf-8")))


def used_variables() -> dict[str, str | None]:
    """The variables that the file uses, with what is said where one is not set."""
    text = FILE.read_text(encoding="utf-8")
    return {found["name"]: found["otherwise"] for found in VARIABLE.finditer(text) if found["name"]}


def written_env(folder: Path) -> dict[str, str]:
    """The variables of an `.env` as `make env` writes it into a folder."""
    assert compose_env.main(["--folder", str(folder)]) == 0
    return compose_env.read((folder / ".env").read_text(encoding="utf-8"))
