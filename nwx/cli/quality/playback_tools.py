"""What checks of playback need beside a browser: the player."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from nwx.cli import option
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions


@contextmanager
def playback_target(settings: Settings, playback: str) -> "Iterator[ArchivePlayback]":
    """Give playback at an address, or one that is started for this and ends with it.

    Raises UsageError for an address that cannot be that of playback, and
    SourceError where nothing answers.
    """
    from nwx.quality.browser.targets import ArchivePlayback

    if playback:
        ArchivePlayback(playback).check()
        yield ArchivePlayback(_own_address(playback))
        return
    from webapp.server.local_playback import local_playback

    with local_playback(settings) as prefix:
        yield ArchivePlayback(prefix)


def _own_address(playback: str) -> str:
    """Return the address that playback leads to: it may answer at one host name only."""
    from urllib.request import ProxyHandler, build_opener

    opener, path = build_opener(ProxyHandler({})), f"{urlsplit(playback).path.rstrip('/')}/"
    with suppress(OSError), opener.open(f"{playback.rstrip('/')}/", timeout=30) as answer:
        if urlsplit(answer.url).path == path:
            return str(answer.url)
    return playback


def browser_options(settings: Settings, given: dict[str, Any], **more: Any) -> "BrowserOptions":
    """Take the options of browsers out of the arguments of a command."""
    from nwx.quality.browser.pool import browser_path
    from nwx.quality.browser.targets import BrowserOptions

    return BrowserOptions(
        jobs=given.pop("jobs"),
        browser=browser_path(given.pop("browser") or settings.browser),
        page_seconds=given.pop("page_seconds"),
        **more,
    )


jobs_option = option.value("--jobs", click.IntRange(1, 64), None, "Number of browsers.", default=2)
page_seconds_option = option.value(
    "--page-seconds", click.FloatRange(1, 3_600), "SECONDS", "Time limit of a page.", default=60.0
)
browser_option = option.string("--browser", "PATH", "The Chromium to use.  [NWX_BROWSER]")
playback_option = option.string(
    "--playback", "URL", "Playback that runs already, as http://localhost:8081/replay."
)
