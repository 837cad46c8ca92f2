"""The browser of the tests."""

import os
import shutil

from playwright.sync_api import Locator, Page, expect

from nwx.quality.browser.pool import NAMES

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str:
    """Return the path of a Chromium: `NWX_TEST_BROWSER`, or one on the PATH."""
    named = os.environ.get("NWX_TEST_BROWSER")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise RuntimeError(
            "the page tests need a browser: apt install chromium-headless-shell,"
            " or set NWX_TEST_BROWSER to the path of a Chromium or Chrome"
        )
    return found


def drawn_chart(page: Page, address: str) -> Locator:
    """Return the chart of a page after it is drawn."""
    page.goto(address)
    chart = page.locator("#chart[data-drawn]")
    expect(chart).to_be_visible(timeout=20_000)
    return chart
