"""What checks of playback need beside a browser: the player."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
        running = ArchivePlayback(playback)
        running.check()
        yield running
        return
    from webapp.server.local_playback import local_playback

    with local_playback(settings) as prefix:
        yield ArchivePlayback(prefix)


def echo_note(text: str) -> None:
    """Print a note on standard error."""
    warn(text)
