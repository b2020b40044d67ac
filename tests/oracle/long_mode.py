"""The long mode of the oracle, as a plugin of pytest that `make test-long` loads.

It takes a share of all histories, leaves out those that have passed before, and writes down each
one that ends: a line in `histories.jsonl`, the counts in `summary.json`, what failed in `failures`.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from json import JSONDecodeError
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.oracle.event_kinds import never_met
from tests.oracle.numbered import SEED, histories_of
from tidemill.contract.project import REPOSITORY

# Which of how many: 1/8 is the first of eight.
SHARE = os.environ.get("TIDEMILL_SHARE", "1/1")
FOLDER = REPOSITORY / ".artefacts" / "oracle" / f"seed-{SEED}"
Ended = dict[str, Any]


@pytest.fixture(scope="session", autouse=True)
def no_pages() -> Iterator[None]:
    """The gate writes no data docs: nothing here looks at them, and they are half of its time."""
    from tidemill.gate import data_docs

    with patch.object(data_docs, "write_page", lambda *_: None):
        yield


def is_of_share(number: int, share: str = SHARE) -> bool:
    """Whether a history belongs to a share; each pipeline has as many in each."""
    which, of = map(int, share.split("/"))
    return number % of == which - 1


class LongMode:
    """What has ended, and what is left.

    Args:
        folder: Where it is written down.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ended = {one["id"]: one for one in _written(folder / "histories.jsonl")}
        self._began = time.monotonic()
        self._now = self._of = 0

    @property
    def passed(self) -> list[str]:
        """The ids of the histories that need not be played again."""
        return [name for name, one in self.ended.items() if one["outcome"] == "passed"]

    def expect(self, of: int) -> None:
        """Say how many histories are to be played now."""
        self._of = of

    def end(self, ended: Ended, failure: str) -> str:
        """Write down that a history has ended.

        Returns:
            How far it has come, as a line.
        """
        self.ended[ended["id"]] = ended
        self._now += 1
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "histories.jsonl").open("a") as lines:
            lines.write(json.dumps(ended) + "\n")
        if failure:
            place = self._folder / "failures" / f"{ended['id'].split('::')[-1]}.txt"
            place.parent.mkdir(exist_ok=True)
            place.write_text(failure)
        summary = self.summary()
        draft = self._folder / "summary.json.draft"
        draft.write_text(json.dumps(summary, indent=1) + "\n")
        draft.replace(self._folder / "summary.json")
        minutes = summary["seconds_left"] / 60
        return (
            f"{summary['share_done']:6.1%}, {self._now} of {self._of}, "
            f"{minutes:.0f} minutes left, {summary['failed']} failed: "
            f"{ended['name']} {ended['number']} {ended['outcome']} in {ended['seconds']:.0f} s"
        )

    def summary(self) -> dict[str, Any]:
        """What has ended, by test and pipeline."""
        cases: dict[tuple[str, str], list[Ended]] = defaultdict(list)
        for one in self.ended.values():
            cases[one["test"], one["name"]].append(one)
        each = (time.monotonic() - self._began) / max(1, self._now)
        failed = [one["id"] for one in self.ended.values() if one["outcome"] != "passed"]
        return {
            "seed": SEED,
            "share": SHARE,
            "share_done": self._now / max(1, self._of),
            "seconds_left": round(each * (self._of - self._now)),
            "histories": len(self.ended),
            "failed": len(failed),
            "failures": failed,
            "pipelines": [_of_case(*case, ended) for case, ended in sorted(cases.items())],
        }


def _written(file: Path) -> Iterator[Ended]:
    """The lines of earlier runs, but for one that a killed process did not finish."""
    for line in file.read_text().splitlines() if file.is_file() else ():
        with suppress(JSONDecodeError):
            yield json.loads(line)


def _of_case(test: str, name: str, ended: list[Ended]) -> dict[str, Any]:
    met = sum((Counter(one["met"]) for one in ended), Counter[str]())
    return {
        "test": test,
        "name": name,
        "histories": len(ended),
        "seconds": round(sum(one["seconds"] for one in ended)),
        "met": dict(sorted(met.items())),
        "never_met": never_met(test, name, met),
    }


class Plugin:
    """Takes part in a run of pytest: collects a share, and writes down what has ended.

    Args:
        folder: Where it is written down.
    """

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._mode = LongMode(folder)
        given = getattr(config, "workerinput", {})
        # A process that takes the place of another one must collect the same.
        self._passed: list[str] = given.get("passed", self._mode.passed)
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed"] = self._passed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """All pipelines in turn, so that a night that ends early has some of each."""
        numbers = {
            item: item.callspec.params["number"]  # type: ignore[attr-defined]
            for item in items
            if "number" in getattr(getattr(item, "callspec", None), "params", {})
        }
        passed = {*self._passed}
        kept = [i for i, n in numbers.items() if is_of_share(n) and i.nodeid not in passed]
        config.hook.pytest_deselected(items=[item for item in items if item not in {*kept}])
        items[:] = sorted(kept, key=lambda item: numbers[item])
        for item in items:
            params = item.callspec.params  # type: ignore[attr-defined]
            of = {"test": item.originalname, **params}  # type: ignore[attr-defined]
            item.user_properties.append(("history", of))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._mode.expect(len(ids))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._mode.expect(len(session.items))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if hasattr(self._config, "workerinput") or report.when != "call":
            return
        ended = {
            "id": report.nodeid,
            **properties["history"],
            "outcome": report.outcome,
            "seconds": round(report.duration, 1),
            "met": properties.get("met", {}),
        }
        line = self._mode.end(ended, report.longreprtext if report.failed else "")
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        terminal.write_line(line)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A kind of event that no history of a pipeline had is an error, once all have ended."""
        if hasattr(self._config, "workerinput"):
            return
        summary = self._mode.summary()
        whole = [
            one for one in summary["pipelines"] if one["histories"] >= histories_of(one["test"])
        ]
        if any(one["never_met"] for one in whole):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Plugin(config, FOLDER), "long mode")
