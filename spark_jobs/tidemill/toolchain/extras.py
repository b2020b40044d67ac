"""What is installed of the packages that Tidemill's extras name, told by its own metadata."""

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from tidemill.contract.errors import UsageError

DISTRIBUTION = "tidemill"
BASE = ""
# The extra of those who work on Tidemill.
_FOR_DEVELOPERS = "dev"
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;(.*))?")
_EXTRA = re.compile(r"extra == [\"']([\w-]+)[\"']")


class ExtraMissing(UsageError):
    """A package of an extra is not installed; carries `module` and `extra`."""


@dataclass(frozen=True)
class Package:
    """A package that Tidemill uses.

    Args:
        name: As it is called in a package index.
        extra: The extra that asks for it; `BASE` for what Tidemill always needs.
        wanted: The range of versions, such as `<3,>=2`; empty where any will do.
        installed: The version that is installed, or None.
    """

    name: str
    extra: str
    wanted: str
    installed: str | None


def installed_version(name: str = DISTRIBUTION) -> str | None:
    """The version of an installed package; None where it is not installed as one."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def packages() -> list[Package]:
    """The packages of all extras for users; none where Tidemill is not installed as a package."""
    if installed_version() is None:
        return []
    found = [_package(line) for line in requires(DISTRIBUTION) or () if _is_foreign(line)]
    return [one for one in found if one.extra != _FOR_DEVELOPERS]


def missing_extra(error: BaseException) -> ExtraMissing | None:
    """The error for a module that an extra would bring; None for any other module or error."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    module = (error.name or "").partition(".")[0]
    names = {module.replace("_", "-"), f"apache-{module}"}
    extra = next((one.extra for one in packages() if one.name in names and one.extra), None)
    if extra is None:
        return None
    return ExtraMissing(
        f"The module {module} is not installed: it comes with the extra '{extra}'.",
        remedy=f"pip install '{DISTRIBUTION}[{extra}]'",
        module=module,
        extra=extra,
    )


def _is_foreign(line: str) -> bool:
    """Whether it is a package of its own: an extra may ask for another extra of Tidemill's."""
    return not line.startswith(f"{DISTRIBUTION}[")


def _package(line: str) -> Package:
    found = _REQUIREMENT.match(line)
    assert found is not None, line  # noqa: S101 - the build back end has written it
    name, wanted, marker = found.groups()
    extra = _EXTRA.search(marker or "")
    return Package(
        name=name,
        extra=extra[1] if extra else BASE,
        wanted=wanted.strip(),
        installed=installed_version(name),
    )
