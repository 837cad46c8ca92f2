"""The player that checks of playback need, and nwx watch --check-playback."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from nwx.captures import PagePlace
from nwx.cli import option
from nwx.cli.output import clean, counted, json_text, warn
from nwx.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from nwx.bulk.child_processes import ChildFunction
    from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions
    from nwx.quality.playback.arrivals import ArrivalEvent, ArrivalSample
    from nwx.warc.sources import ArchiveSource
    from nwx.watching import PageListener


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
    from webapp.server.small_servers import local_playback

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


def check_arriving_pages(connection: "Connection[ArrivalEvent, Any]") -> None:
    """Check the pages that come over a connection in playback of this machine."""
    from nwx.quality.playback.arrivals import run_arrival_checks

    run_arrival_checks(connection, lambda settings: playback_target(settings, ""))


class PlaybackListener:
    """Has a sample of new pages checked, and prints what is found; never stops the watch.

    `inner` hears of pages first. `function` is what the process runs.
    """

    def __init__(
        self,
        settings: Settings,
        sample: "ArrivalSample",
        inner: "PageListener | None" = None,
        *,
        as_json: bool = False,
        function: "ChildFunction" = check_arriving_pages,
    ) -> None:
        from nwx.quality.playback.arrivals import ArrivalChecks

        self._checks = ArrivalChecks(settings, sample, function, self._print)
        self._inner, self._as_json = inner, as_json

    def on_documents(self, source: "ArchiveSource", pages: Sequence[PagePlace]) -> None:
        """Take the new pages of a file."""
        if self._inner is not None:
            self._inner.on_documents(source, pages)
        self._checks.add(pages)

    def idle(self) -> None:
        """Print what was found since the last time."""
        if self._inner is not None:
            self._inner.idle()
        self._checks.tell_news()

    def finish(self, stopping: Callable[[], bool]) -> None:
        """Wait until what waits is checked, or `stopping` says so, and print the rest."""
        left = self._checks.finish(stopping)
        if left:
            words = f"{counted(left, 'page')} not checked; `nwx check-playback` does it"
            warn(f"{words}")

    def close(self) -> None:
        """End the process."""
        self._checks.close()

    def _print(self, event: "ArrivalEvent") -> None:
        if event.kind == "error":
            warn(f"checks of playback ended: {clean(event.text)}")
        elif event.score is None:
            warn(event.text)
        elif self._as_json:
            click.echo(json_text({"event": "checked"} | event.score))
        else:
            click.echo(_words(event.score))
        sys.stdout.flush()


def _words(found: dict[str, Any]) -> str:
    kinds = dict.fromkeys(fault["kind"].replace("_", " ") for fault in found["faults"])
    faults = f", {counted(found['faults_total'], 'fault')} ({', '.join(kinds)})" if kinds else ""
    return clean(f"{found['url']}: plays with score {found['score']:.3f}{faults}")


@contextmanager
def playback_listener(
    settings: Settings, sample: str | None, inner: "PageListener | None", *, as_json: bool
) -> "Iterator[PlaybackListener | None]":
    """Give the listener of a watch that checks a sample, None where none is asked for."""
    if sample is None:
        yield None
        return
    from nwx.quality.browser.pool import browser_path
    from nwx.quality.playback.arrivals import ArrivalSample

    wanted = ArrivalSample.parse(sample)
    browser_path(settings.browser)  # raises where there is none
    listener = PlaybackListener(settings, wanted, inner, as_json=as_json)
    try:
        yield listener
    finally:
        listener.close()
