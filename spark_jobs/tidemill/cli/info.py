"""`tidemill info`: what is installed here, and what is missing."""

from dataclasses import asdict

from tidemill.cli.screen import Json, Screen


def info(json: Json = False) -> None:
    """Show versions, paths, Java, and what is missing; asks no server.

    Examples:
      tidemill info
    """
    from tidemill.steps.read_only.installation import installation

    screen = Screen(json)
    found = installation()
    if json:
        screen.document(asdict(found))
        return
    versions = {"tidemill": found.version, "python": found.python, "java": found.java}
    rows = [(name, version or "–") for name, version in {**versions, **found.packages}.items()]
    screen.table("Versions", ("name", "version"), rows)
    screen.table(
        "Paths", ("name", "path"), ((name, path or "–") for name, path in found.paths.items())
    )
    missing = [(one.what, one.remedy) for one in found.missing]
    if missing:
        screen.table("Missing", ("what", "remedy"), missing)
    else:
        screen.line("Nothing is missing.")
