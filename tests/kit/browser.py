"""Chromium for tests of what people look at: reports, the site."""

import os
import shutil

import pytest

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser():
    """Chromium; where there is none the tests are skipped, unless one is required."""
    try:
        from playwright.sync_api import Error, sync_playwright
        path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser",
                                                    "google-chrome"))), None)
        with sync_playwright() as playwright:
            try:
                found = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
            except Error as error:
                _absent(f"no Chromium: {error.message.splitlines()[0]}")
            yield found
            found.close()
    except ImportError as error:
        _absent(f"no Playwright: {error}")


def _absent(reason):
    if os.environ.get("CYCLEBOUND_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
