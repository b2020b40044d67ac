"""A person who has no mouse: Tab, Enter and letters."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

# More presses than any page of ours has places to stop at.
MOST = 150
VISIBLE = """(element) => {
  const box = element.getBoundingClientRect();
  const shown = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  const style = getComputedStyle(element);
  return shown && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
}"""


class Keyboard:
    """The keys, on the page that is open."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def tab_to(self, wanted: Locator) -> None:
        """Go on from one place to the next until it is there; each has to show that it is it."""
        wanted.wait_for()
        for _ in range(MOST):
            self._page.keyboard.press("Tab")
            focus = self._page.locator(":focus")
            if focus.count():
                assert focus.evaluate(VISIBLE), f"nobody sees the focus: {focus.inner_html()}"
            if wanted.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"{wanted} is not reached by Tab")

    def follow(self, wanted: Locator) -> None:
        """Go to a link or a button and press it."""
        self.tab_to(wanted)
        self._page.keyboard.press("Enter")

    def fill(self, wanted: Locator, text: str) -> None:
        """Go to a field and write."""
        self.tab_to(wanted)
        self._page.keyboard.type(text)
        expect(wanted).to_have_value(text)

    def choose(self, wanted: Locator, option: str) -> None:
        """Go to a list and choose by the first letters of an option."""
        self.tab_to(wanted)
        self._page.keyboard.type(option)
        expect(wanted).to_have_value(option)
