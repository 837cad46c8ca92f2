"""The browser that the tests drive."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")
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
            "the page tests need a browser: install chromium (apt install chromium),"
            " or set NWX_TEST_BROWSER to the path of a Chromium or Chrome"
        )
    return found
