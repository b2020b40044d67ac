"""What a page lacks for readers who use a keyboard, a screen reader or a narrow window.

Names are those that the browser itself gives to a screen reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from playwright.sync_api import Page

# Parts that a person acts on, or is told of, by their name.
NAMED = ("link", "button", "textbox", "searchbox", "combobox", "checkbox", "region", "table", "img")
# What small text needs by WCAG 2.2, level AA.
LEAST_CONTRAST = 4.5
NARROW = 420

PARTS = re.compile(
    r"^\s*- '?(?P<role>[a-z]+)(?: (?P<name>\"[^\n]*?\"|/[^\n]*?/))?(?P<more>[\[:' ]|$)"
)
HEADING = re.compile(r"^\s*- '?heading .*\[level=(\d)\]", re.MULTILINE)

# Each text with the contrast to what is behind it; a canvas turns any colour into red, green, blue.
CONTRASTS = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const seen = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return pen.getImageData(0, 0, 1, 1).data;
  };
  const light = (colour) => {
    const [r, g, b] = [...seen(colour)].slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (seen(colour)[3]) return colour;
    }
    return "white";
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.data.trim();
    if (!text || !element.checkVisibility() || element.closest("svg")) continue;
    const both = [light(getComputedStyle(element).color), light(behind(element))].sort();
    found.push([text, (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05)]);
  }
  return found;
}"""
TABLES = """() => [...document.querySelectorAll("table")].flatMap((table) => [
  ...(table.caption?.innerText.trim() || table.caption?.textContent.trim() ? [] : ["no caption"]),
  ...[...table.querySelectorAll("th:not([scope])")].map((head) => `no scope: ${head.innerText}`),
  ...[...table.tBodies].flatMap((body) => [...body.rows])
    .filter((row) => !row.querySelector("th[scope=row]")).map((row) => `no head: ${row.innerText}`),
])"""


def complaints(page: Page) -> list[str]:
    """What is wrong with a page as it is shown, a phrase each."""
    return [
        *_of_names(page),
        *_of_headings(page),
        *(f"table: {one}" for one in page.evaluate(TABLES)),
        *_of_contrast(page),
        *_of_width(page),
    ]


def _of_names(page: Page) -> Iterator[str]:
    if not page.title() or page.locator("html").get_attribute("lang") is None:
        yield "the page has no title or no language"
    if page.get_by_role("main").count() != 1:
        yield "the page has no main part"
    for line in page.locator("body").aria_snapshot().splitlines():
        part = PARTS.match(line)
        if part and part["role"] in NAMED and not part["name"]:
            yield f"without a name: {line.strip()}"


def _of_headings(page: Page) -> Iterator[str]:
    levels = [int(level) for level in HEADING.findall(page.locator("body").aria_snapshot())]
    if levels[:1] != [1] or levels.count(1) != 1:
        yield f"it does not begin with one heading of its own: {levels}"
    if any(after > before + 1 for before, after in pairwise(levels)):
        yield f"a level of headings is left out: {levels}"


def _of_contrast(page: Page) -> Iterator[str]:
    for text, contrast in page.evaluate(CONTRASTS):
        if contrast < LEAST_CONTRAST:
            yield f"contrast {contrast:.1f}: {text}"


def _of_width(page: Page) -> Iterator[str]:
    before = page.viewport_size
    page.set_viewport_size({"width": NARROW, "height": 900})
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if before is not None:
        page.set_viewport_size(before)
    if over > 0:
        yield f"{over} pixels wider than a window of {NARROW}"
