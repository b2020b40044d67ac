"""Airflow's UI as a person uses it: its own dialogs, forms and pages, a step a method.

Steps look for what a person reads or clicks on, wait for it as long as a busy machine may take, and
give back what the UI's own request was answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, FrameLocator, Locator, Page, Response, ViewportSize, expect

from tests.support.airflow.running_airflow import Person

PATIENCE = 120_000.0
WINDOW = ViewportSize(width=1280, height=1100)


class AirflowUI:
    """A window on Airflow.

    Args:
        browser: It opens there.
        url: The url of Airflow.
        pictures: Where screenshots are kept, in the order they were taken.
    """

    def __init__(self, browser: Browser, url: str, pictures: Path) -> None:
        self.url = url
        self.pictures = pictures
        self.page: Page = browser.new_page(viewport=WINDOW, locale="en-US", timezone_id="UTC")
        self.page.set_default_timeout(PATIENCE)
        self._taken = 0

    def picture(self, name: str) -> None:
        """Keep what can be seen now."""
        self._taken += 1
        self.page.screenshot(path=self.pictures / f"{self._taken:02d}-{name}.png")

    def log_in(self, person: Person) -> None:
        self.page.goto(self.url)
        self.page.get_by_label("Username").fill(person.name)
        self.page.get_by_label("Password").fill(person.password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("link", name="Dags", exact=True).wait_for()

    def open(self, *path: str) -> None:
        """A page by its path, such as `dags`, the DAG, `runs`, the run."""
        self.page.goto("/".join((self.url, *(quote(part, safe="") for part in path))))

    def backfill(
        self,
        dag: str,
        first: date,
        last: date,
        which: str = "Missing Runs",
        *,
        unpause: bool | None = None,
    ) -> dict[str, Any]:
        """Run the DAG for a range of dates, from the dialog; the backfill.

        Args:
            which: The dialog's name for the runs that are wanted.
            unpause: For a paused DAG, whether the dialog is to unpause it; None leaves its box.
        """
        dialog = self._dialog(dag)
        dialog.get_by_text("Backfill", exact=True).click()
        # Parameters may have the same names; they come after the dialog's own fields.
        self._choose_date(self._field(dialog, "From").first, first)
        self._choose_date(self._field(dialog, "To").first, last)
        dialog.get_by_text(which, exact=True).click()
        if unpause is not None:
            box = dialog.get_by_role("checkbox", name=re.compile("^Unpause "))
            self._check(box, unpause)
        # It asks the scheduler's own rules, and says how many runs there will be.
        dialog.get_by_text("will be triggered").wait_for()
        self.picture(f"backfill-of-{dag}")
        with self._answer("POST", "/backfills") as answers:
            dialog.get_by_role("button", name="Run Backfill").click()
        return answers[0]

    def trigger(self, dag: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Trigger a single run with parameters, by the titles in their form; the run."""
        dialog = self._dialog(dag)
        form = dialog.get_by_role("region")
        for title, value in parameters.items():
            self._fill(self._field(form, title), value)
        self.picture(f"form-of-{dag}")
        with self._answer("POST", f"/dags/{dag}/dagRuns") as answers:
            dialog.get_by_role("button", name="Trigger", exact=True).click()
        return answers[0]

    def decide(self, dag: str, run_id: str, task: str, choice: str) -> dict[str, Any]:
        """Answer a task that waits for a person; the answer as it was taken."""
        self.open("dags", dag, "runs", run_id, "tasks", task, "required_actions")
        button = self.page.get_by_role("button", name=choice, exact=True)
        button.wait_for()
        self.picture(f"decision-of-{dag}")
        with self._answer("PATCH", "/hitlDetails") as answers:
            button.click()
        return answers[0]

    def decide_on_page(self, action: str, reason: str) -> str:
        """Ask for a decision on the page of an increment; the id of the run that was started."""
        form = self.page.locator("form").filter(
            has=self.page.get_by_role("button", name=action, exact=True)
        )
        form.get_by_label("Reason").fill(reason)
        form.get_by_role("button", name=action, exact=True).click()
        asked = self.page.get_by_role("status")
        asked.get_by_role("link").wait_for()
        self.picture(f"asked-for-{action.lower()}")
        return asked.locator("code").first.inner_text()

    def open_from_navigation(self, name: str) -> FrameLocator:
        """A page of a plugin, by its entry in the navigation; the page within Airflow's own."""
        self.open()
        self.page.get_by_role("link", name=name, exact=True).click()
        return self.page.frame_locator(f'iframe[title="{name}"]')

    def choose_theme(self, theme: str) -> None:
        """As Airflow keeps what a person chose: `light` or `dark`."""
        self.page.evaluate("theme => localStorage.setItem('theme', theme)", theme)

    def unfold(self, text: str) -> None:
        """Open the JSON that a page shows folded, from its end, until a text can be read."""
        folded = self.page.locator(".codicon-folding-collapsed")
        folded.first.wait_for()
        while not self.page.get_by_text(text).count():
            folded.last.click()

    def _dialog(self, dag: str) -> Locator:
        """The dialog behind the DAG's button `Trigger`."""
        self.open("dags", dag)
        self.page.get_by_role("button", name="Trigger Dag").click()
        dialog = self.page.get_by_role("dialog").first
        dialog.get_by_role("button", name="Advanced Options").wait_for()
        return dialog

    def _field(self, place: Locator, label: str) -> Locator:
        """What belongs to a label; a star after it says that a value is required."""
        text = self.page.get_by_text(re.compile(rf"^\s*{re.escape(label)}\s*\*?\s*$"))
        return place.get_by_role("group").filter(has=text)

    def _fill(self, field: Locator, value: Any) -> None:
        field.wait_for()
        if isinstance(value, bool):
            self._check(field.get_by_role("checkbox"), value)
        elif isinstance(value, date):
            self._choose_date(field, value)
        elif field.get_by_role("combobox").count():
            field.get_by_role("combobox").click()
            # An option may be explained after its name.
            self.page.get_by_role("option", name=re.compile(rf"^{re.escape(value)}\b")).click()
        else:
            field.locator("input, textarea").fill(str(value))

    def _check(self, box: Locator, value: bool) -> None:
        # The box itself is hidden behind a picture of a switch, and the keyboard reaches it.
        if box.is_checked() != value:
            box.press("Space")
        expect(box).to_be_checked(checked=value)

    def _choose_date(self, field: Locator, day: date) -> None:
        """A date without a time into a field of dates, or the midnight it begins with."""
        plain = field.locator("input[type=date]")
        if plain.count():
            plain.fill(day.isoformat())
            return
        field.get_by_test_id("datetime-input").click()
        time = self.page.get_by_placeholder("HH:mm")
        calendar = self.page.get_by_role("dialog").filter(has=time)
        calendar.get_by_placeholder("YYYY/MM/DD").fill(f"{day:%Y/%m/%d}")
        time.fill("00:00")
        time.press("Enter")
        expect(field).to_contain_text(f"{day:%b %d, %Y} 00:00")
        self.page.get_by_role("dialog").first.get_by_role("heading").first.click()
        calendar.wait_for(state="hidden")

    @contextmanager
    def _answer(self, method: str, path: str) -> Iterator[list[dict[str, Any]]]:
        """What the UI's request is answered that is sent meanwhile."""

        def is_it(response: Response) -> bool:
            return response.request.method == method and response.url.endswith(path)

        answers: list[dict[str, Any]] = []
        with self.page.expect_response(is_it) as caught:
            yield answers
        assert caught.value.ok, caught.value.text()
        answers.append(caught.value.json())
