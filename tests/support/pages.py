"""The pages that people read: README, the other pages at the root, and those below `docs`."""

from __future__ import annotations

import re
from pathlib import Path

from tidemill.contract.project import REPOSITORY

PAGES = sorted(
    path.relative_to(REPOSITORY)
    for path in (*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"))
)
TEXTS = {page: (REPOSITORY / page).read_text(encoding="utf-8") for page in PAGES}
# The second word after the fence names a block; it is not shown. A block in a list is indented.
_BLOCK = re.compile(r"^ *```(\S+)(?: (\S+))?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
# The named blocks are chapters of one history, which `tests/test_readme.py` plays.
BLOCKS = {name: text for page in TEXTS.values() for _, name, text in _BLOCK.findall(page) if name}
NAMES = [name for page in TEXTS.values() for _, name, _ in _BLOCK.findall(page) if name]
UNNAMED = [
    (page, text) for page in PAGES for _, name, text in _BLOCK.findall(TEXTS[page]) if not name
]
PROSE = {page: _BLOCK.sub("", text) for page, text in TEXTS.items()}
# Pipeline -> its output mode and its class, as the page of examples has it.
PIPELINES = {
    name: (mode, kind)
    for name, mode, kind in re.findall(
        r"\*\*`(\w+)`\*\* \((\w+), (\w+)\)", TEXTS[Path("docs/guides/examples.md")]
    )
}


def anchors(page: Path) -> set[str]:
    """The anchors that a git host and the site give the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", PROSE[page], re.MULTILINE)
    texts = (re.sub(r"\]\([^)]*\)", "", heading).lower().strip() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}
