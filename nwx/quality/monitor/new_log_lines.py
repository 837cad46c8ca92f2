"""Fetches from the crawl.log of Heritrix, followed as it is written."""

import re
from dataclasses import asdict
from pathlib import Path

import msgspec

from nwx.bulk.log_follower import FollowedPlace, LogFollower, LogPart
from nwx.keys import is_browsed
from nwx.quality.monitor.state import MonitorState
from nwx.quality.monitor.sums import Fetch
from nwx.values.crawl_log import LoggedFetch, logged_fetch
from nwx.values.media_types import UNKNOWN, normal_type
from nwx.values.urls import url_parts

_NOT_DIGITS = re.compile(r"[^0-9]")
_MOST_SHOWN = 3
"""So many lines of a part that cannot be read are shown; all are counted."""


def line_time(line: bytes) -> str:
    """Return the 17 digits of the time of a line of a crawl.log, "" of what is no line."""
    text = line.decode("utf-8", "replace")
    if logged_fetch(text) is None:
        return ""
    return _NOT_DIGITS.sub("", text.split(None, 1)[0])[:17]


class NewLogLines:
    """Adds what a log tells to the state of a monitor."""

    def __init__(self, path: Path) -> None:
        self._follower = LogFollower(path, line_time)
        self._path = path

    def take(self, state: MonitorState) -> bool:
        """Count the next lines of the log, some megabytes; return whether there were any.

        The state holds the place behind them then. Raises SourceError where
        the log cannot be read.
        """
        place = FollowedPlace()
        if state.log_place:
            place = msgspec.json.decode(state.log_place, type=FollowedPlace)
        part = self._follower.read(place)
        if part is None:
            return False
        for problem in part.problems:
            state.note(part.file, part.offset, problem)
        self._count(part, state)
        state.log_place = msgspec.json.encode(asdict(part.place)).decode()
        return True

    def _count(self, part: LogPart, state: MonitorState) -> None:
        lines = part.lines.decode("utf-8", "replace").split("\n")
        wrong = []
        sums, earliest = state.sums, state.covered_from
        for number, line in enumerate(lines):
            logged = logged_fetch(line)
            if logged is None:
                if line and not line.isspace():
                    wrong.append(number)
                continue
            state.log_lines += 1
            if is_browsed(logged.url):
                sums.add_fetch(_fetch(logged))
                is_first = logged.timestamp < earliest or not earliest
                if is_first and sums.believes(logged.timestamp):
                    earliest = logged.timestamp
        state.covered_from = earliest
        _note_wrong(part, wrong, state)

    def close(self) -> None:
        """Let go of the log."""
        self._follower.close()


def _note_wrong(part: LogPart, wrong: list[int], state: MonitorState) -> None:
    """Count lines that cannot be read, and note where the first ones are."""
    if not wrong:
        return
    pieces = part.lines.split(b"\n")
    offset, before = part.offset, 0
    for number in wrong[:_MOST_SHOWN]:
        offset += sum(len(piece) + 1 for piece in pieces[before:number])
        before = number
        state.note(part.file, offset, "this line is none of a crawl.log")
    state.problems_total += len(wrong) - len(wrong[:_MOST_SHOWN])


def _fetch(logged: LoggedFetch) -> Fetch:
    answered = logged.status >= 0
    mime = "" if logged.mime == UNKNOWN else logged.mime.lower()
    return Fetch(
        logged.url,
        url_parts(logged.url).host,
        logged.timestamp,
        logged.status,
        normal_type(mime, logged.url) if answered else UNKNOWN,
        logged.size or 0,
        logged.digest,
        logged.took_ms,
        logged.is_revisit,
    )
