"""Ends a step at one of the functions that its module calls, as a kill would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest


class Killed(Exception):
    """Stands for the end of the process."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, step: ModuleType, name: str) -> Iterator[None]:
    """What runs in the `with` statement ends where the step calls this function.

    Args:
        name: A function's name in the module.
    """

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(step, name, die)
        with pytest.raises(Killed):
            yield
