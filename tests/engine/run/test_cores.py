"""The cores of a cluster's executors: by the settings, or counted while executors come."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tidemill.engine.run import cores


@dataclass
class Application:
    """What `cluster_cores` asks of an application, on a clock of its own.

    Args:
        settings: Its Spark settings.
        arrivals: Second -> the cores of the executor that comes then.
        asked: At which seconds somebody counted.
    """

    settings: dict[str, str] = field(default_factory=dict)
    arrivals: dict[float, int] = field(default_factory=dict)
    now: float = 0.0
    asked: list[float] = field(default_factory=list)

    @property
    def session(self) -> Any:
        conf = SimpleNamespace(get=self.settings.get)
        return SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: conf))

    def executor_cores(self, _: Any) -> int:
        self.asked.append(self.now)
        return sum(number for at, number in self.arrivals.items() if at <= self.now)

    def first_executor_seconds(self, _: Any) -> float:
        return min((at for at in self.arrivals if at <= self.now), default=0.0)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Application:
    double = Application()
    monkeypatch.setattr(cores, "executor_cores", double.executor_cores)
    monkeypatch.setattr(cores, "first_executor_seconds", double.first_executor_seconds)
    monkeypatch.setattr(cores, "monotonic", lambda: double.now)
    monkeypatch.setattr(cores, "sleep", double.sleep)
    return double


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"spark.cores.max": "8"}, 8),
        ({"spark.cores.max": "8", "spark.executor.cores": "3"}, 6),
        ({"spark.cores.max": "8", "spark.executor.instances": "3"}, 8),
        ({"spark.executor.cores": "3", "spark.executor.instances": "2"}, 6),
    ],
)
def test_settings_that_say_how_many_are_believed_and_nobody_waits(
    application: Application, settings: dict[str, str], found: int
) -> None:
    application.settings = settings
    assert cores.cluster_cores(application.session) == found
    assert application.asked == []


@pytest.mark.parametrize(
    "settings", [{}, {"spark.executor.cores": "2"}, {"spark.executor.instances": "4"}]
)
def test_without_them_executors_are_counted(
    application: Application, settings: dict[str, str]
) -> None:
    application.settings = settings
    application.arrivals = {0.5: 2, 1.0: 2}
    assert cores.cluster_cores(application.session) == 4


@pytest.mark.parametrize(
    ("arrivals", "found"),
    [
        ({0.0: 2}, 2),
        # Two seconds at least, however soon the first one came.
        ({0.5: 2, 2.0: 2}, 4),
        ({0.5: 2, 3.5: 2}, 2),
        # The first one took eight: so may the next.
        ({8.0: 2, 15.0: 2}, 4),
        ({8.0: 2, 17.0: 2}, 2),
        # Half a minute in all.
        ({20.0: 2, 29.0: 2}, 4),
        ({20.0: 2, 31.0: 2}, 2),
        ({31.0: 2}, 0),
        ({}, 0),
    ],
)
def test_a_further_executor_is_waited_for_as_long_as_the_first_one_took(
    application: Application, arrivals: dict[float, int], found: int
) -> None:
    application.arrivals = arrivals
    assert cores.cluster_cores(application.session) == found
