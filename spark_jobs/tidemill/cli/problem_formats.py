"""Problems as a build server reads them: annotations of GitHub, and a JUnit report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

if TYPE_CHECKING:
    from tidemill.steps.read_only.checks.problem import Problem

SUITE = "tidemill check"
# Characters that XML cannot hold.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def github_lines(problems: Iterable[Problem], notes: Iterable[str], folder: Path) -> Iterator[str]:
    """Workflow commands of GitHub Actions, which annotate the lines of a pull request.

    Args:
        folder: The checkout; files below it are named relative to it.
    """
    for one in problems:
        level = "warning" if one.warning else "error"
        place = {"file": str(_relative(one.file, folder)), "line": one.line, "title": SUITE}
        given = (
            f"{key}={_in_property(str(value))}" for key, value in place.items() if value is not None
        )
        yield f"::{level} {','.join(given)}::{_in_message(f'{one.what}. {one.remedy}')}"
    for note in notes:
        yield f"::notice title={SUITE}::{_in_message(note)}"


def junit_report(problems: Sequence[Problem], checked: Iterable[Path], folder: Path) -> str:
    """A report in which each problem is a failed test, and each sound spec a passed one.

    A warning is a passed test with its text as output.

    Args:
        checked: The specs that were checked.
    """
    wrong = {one.file for one in problems}
    failed = sum(not one.warning for one in problems)
    sound = [path for path in checked if path not in wrong]
    suite = Element(
        "testsuite",
        name=SUITE,
        tests=str(len(problems) + len(sound)),
        failures=str(failed),
        errors="0",
        skipped="0",
    )
    for path in sound:
        SubElement(suite, "testcase", classname=SUITE, name=_clean(_relative(path, folder)))
    for one in problems:
        file = _clean(_relative(one.file, folder))
        place = file if one.line is None else f"{file}:{one.line}"
        case = SubElement(suite, "testcase", classname=SUITE, name=place, file=file)
        if one.line is not None:
            case.set("line", str(one.line))
        said = _clean(f"{one.what}. {one.remedy}")
        if one.warning:
            SubElement(case, "system-out").text = f"warning: {said}"
        else:
            failure = SubElement(case, "failure", message=_clean(one.what), type="problem")
            failure.text = f"{place}: {said}"
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True)


def _relative(file: Path, folder: Path) -> Path:
    return file.relative_to(folder) if file.is_relative_to(folder) else file


def _in_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _in_property(text: str) -> str:
    return _in_message(text).replace(":", "%3A").replace(",", "%2C")


def _clean(text: object) -> str:
    return _CONTROLS.sub("\ufffd", str(text))
