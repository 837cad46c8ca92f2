"""nwx watch --check-playback: pages that arrive are checked in a process beside loading."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from nwx.captures import PagePlace
from nwx.cli.output import clean, counted, json_text, warn
from nwx.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from nwx.bulk.child_processes import ChildFunction
    from nwx.quality.playback.arrivals import ArrivalEvent, ArrivalSample
    from nwx.warc.sources import ArchiveSource
    from nwx.watching import PageListener


def check_arriving_pages(connection: "Connection[ArrivalEvent, Any]") -> None:
    """Check the pages that come over a connection in playback of this machine."""
    from nwx.cli.quality.playback_tools import playback_target
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
