"""`tidemill info`: what is installed here, and what is missing."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from tidemill.cli.screen import Csv, Json, Screen


def info(json: Json = False, csv: Csv = False) -> None:
    """Show versions, paths, Java, and what is missing; asks no server.

    Examples:
      tidemill info
    """
    from tidemill.steps.read_only.installation import installation

    screen = Screen(json, csv)
    found = installation()
    if json:
        screen.document(asdict(found))
        return
    versions = {"tidemill": found.version, "python": found.python, "java": found.java}
    versions |= found.packages
    missing = [(one.what, one.remedy) for one in found.missing]
    if csv:
        kinds = {"version": versions.items(), "path": found.paths.items(), "missing": missing}
        rows = [(kind, *pair) for kind, pairs in kinds.items() for pair in pairs]
        screen.table("", ("kind", "name", "value"), rows)
        return
    screen.table("Versions", ("name", "version"), _dashed(versions))
    screen.table("Paths", ("name", "path"), _dashed(found.paths))
    if missing:
        screen.table("Missing", ("what", "remedy"), missing)
    else:
        screen.line("Nothing is missing.")


def _dashed(found: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    return ((name, str(value or "–")) for name, value in found.items())
