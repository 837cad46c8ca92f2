"""The folder of a Heritrix job: what it is told by files, and what it says in its log."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nwx.errors import SourceError, UrlError, UsageError
from nwx.steering.adapters.crawl_log import LogPlace, read_crawl_log
from nwx.values.crawl_log import LoggedFetch
from nwx.values.urls import clean_url
from nwx.warc.sources import is_archive_name

_CLOSE_FILES = """\
pool = appCtx.getBean("warcWriter").pool
for (int open = pool.numActive + pool.numIdle; open > 0; open--) {
  pool.destroyWriter(pool.borrowFile())
}
"""
"""Closes the WARC files that are being written; the next record begins a new one."""


class ScheduleLine(NamedTuple):
    """A URL for Heritrix: its hops from a seed, and the page that links to it.

    `again`: to be fetched although it was before.
    """

    url: str
    hops: str
    via: str
    again: bool = False


class HeritrixJob:
    """A job by its folder, whether Heritrix runs it now or not."""

    def __init__(self, folder: Path) -> None:
        """Take a folder; raises UsageError where it is not that of a job."""
        if not any(folder.glob("*.cxml")):
            raise UsageError(
                f"{folder} is no folder of a Heritrix job: it has no crawler-beans.cxml"
            )
        self.folder = folder
        self._actions = folder / "action"

    @property
    def launch(self) -> str:
        """The name of the last launch, "" where the job was never launched."""
        try:
            return (self.folder / "latest").readlink().name
        except OSError:
            return ""

    def fetches(self, launch: str, place: LogPlace) -> tuple[list[LoggedFetch], LogPlace]:
        """Return what a launch has fetched since `place`, and the place that follows."""
        return read_crawl_log(self.folder / launch / "logs", place)

    def schedule(self, lines: Sequence[ScheduleLine], number: int) -> None:
        """Have URLs scheduled in this order, unless Heritrix has seen them or `again` is set."""
        for ending, again in (("schedule", False), ("force", True)):
            text = "".join(_line(line) for line in lines if line.again == again)
            if text:
                self._act(f"{_name(number)}.{ending}", text)

    def was_given(self, number: int, launch: str) -> bool:
        """Tell whether the files of a number wait for a launch, or were read by it."""
        done = self.folder / launch / "actions-done"
        return any(self._actions.glob(f"{_name(number)}.*")) or any(
            done.glob(f"*.{_name(number)}.*")
        )

    def close_files(self, number: int) -> None:
        """Have the WARC files closed that are being written."""
        self._act(f"{_name(number)}.groovy", _CLOSE_FILES)

    def close_abandoned(self, launch: str) -> None:
        """Give the WARC files that a launch which is over left open the names of closed ones.

        Heritrix leaves them when it is killed; nobody would read them.
        """
        try:
            for path in sorted((self.folder / launch).rglob("*.open")):
                closed = path.with_suffix("")
                if is_archive_name(closed.name) and not closed.exists():
                    path.rename(closed)
        except OSError as error:
            raise SourceError(
                f"a file in {self.folder / launch} cannot be renamed: {error.strerror}"
            ) from error

    def _act(self, name: str, text: str) -> None:
        """Put a file into the action directory; it is whole from the start, as Heritrix needs."""
        unfinished = self.folder / f".{name}"
        try:
            self._actions.mkdir(exist_ok=True)
            with unfinished.open("w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(self._actions / name)
        except OSError as error:
            raise SourceError(
                f"{self._actions / name} cannot be written: {error.strerror}"
            ) from error


def _name(number: int) -> str:
    return f"nwx-{number:012}"


def _line(line: ScheduleLine) -> str:
    """Return a line of a recovery log.

    Heritrix 3.13 fails to write a page that has hops and no page before it:
    a URL without one is given as its own.
    """
    url = clean_url(line.url)
    return f"F+ {url} {line.hops or 'L'} {clean_via(line.via) or url}\n"


def clean_via(via: str) -> str:
    """Return the URL of the page that links to another, "" where it is none."""
    try:
        return clean_url(via)
    except UrlError:
        return ""
