"""Chromium, started by Playwright."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.browser.program import program

# It shows pages of our own only, on machines without a graphics card, as root too.
OPTIONS = ("--disable-gpu", "--disable-webgl", "--disable-dev-shm-usage")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless one, which ends with whoever started it."""
    found = program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.path,
            env={**os.environ, **found.environ},
            args=list(OPTIONS),
            chromium_sandbox=False,
        )
        with browser:
            yield browser
