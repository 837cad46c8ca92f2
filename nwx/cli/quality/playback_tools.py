"""What checks of playback need beside a browser: the player."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nwx.cli.output import warn
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.quality.browser.targets import ArchivePlayback


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


def echo_note(text: str) -> None:
    """Print a note on standard error."""
    warn(text)
