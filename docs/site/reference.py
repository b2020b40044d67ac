"""Writes the pages of the reference that come from the code; a test keeps them equal to it.

They are committed, so that a git host shows them and a pull request shows what changes for users.
"""

from collections.abc import Callable
from pathlib import Path

from docs.site.command_page import command_page
from docs.site.spec_page import spec_page

REFERENCE = Path(__file__).parents[1] / "reference"
GENERATED: dict[str, Callable[[], str]] = {"commands.md": command_page, "spec.md": spec_page}

if __name__ == "__main__":
    for name, page in GENERATED.items():
        REFERENCE.joinpath(name).write_text(page(), encoding="utf-8")
