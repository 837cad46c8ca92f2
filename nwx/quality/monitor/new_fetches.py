"""New fetches (captures in an archive, lines of a crawl.log), and counts of Heritrix's queue."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.robotparser import RobotFileParser

import msgspec

from nwx.bulk.log_follower import FollowedPlace, LogFollower, LogPart
from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.keys import is_browsed, makes_document, precedence
from nwx.model import Capture, Document
from nwx.quality.monitor.state import MonitorState
from nwx.quality.monitor.sums import Fetch
from nwx.values.crawl_log import LoggedFetch, logged_fetch
from nwx.values.media_types import HTML, UNKNOWN, normal_type
from nwx.values.urls import host_with_port

_AT_ONCE = 500
_TEXTS_AT_ONCE, _TEXTS_OF_HOST = 96, 24
_MOST_CHARACTERS = 500
_MOST_ROBOTS_CHARACTERS = 100_000
_ROBOTS = "/robots.txt"

Pause = Callable[[], bool]
"""Called between batches; returns whether to stop."""


class NewCaptures:
    """Adds newly stored captures to the state of a monitor."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def take(self, state: MonitorState, until: str, pause: Pause) -> None:
        """Count the captures up to a mark, in batches; the state is consistent between them.

        Raises StaleMarkError if the archive does not have the state's mark.
        """
        if not until:
            return
        stored = self._engine.captures_since(state.mark, until, state.collection)
        for batch in batches(stored, _AT_ONCE):
            self._count([capture for capture, _ in batch], state)
            state.mark = batch[-1][1]
            if pause():
                return
        state.mark = until

    def _count(self, captures: Sequence[Capture], state: MonitorState) -> None:
        fetched = [one for one in captures if _is_fetched(one)]
        ids = {one.document_id for one in fetched if makes_document(one)}
        known = self._engine.known(ids)
        new: dict[str, Capture] = {}
        for one in fetched:
            found = known.get(one.document_id) if makes_document(one) else None
            is_new = found == precedence(one)
            if is_new:
                new[one.document_id] = one
            size = one.content_length or 0
            state.sums.add_archived(
                one.timestamp, size, is_new=is_new, is_known=found is not None and not is_new
            )
            if not state.covered_from or one.timestamp < state.covered_from:
                state.sums.add_fetch(_captured_fetch(one))
        self._look_into(new, state)

    def _look_into(self, new: dict[str, Capture], state: MonitorState) -> None:
        """Count the texts of some new pages, and evaluate new robots.txt files."""
        chosen = list(_chosen(new))
        for id, document in self._engine.documents(chosen).items():
            capture = new[id]
            host = state.sums.hosts.named(host_with_port(capture.url))
            if _is_robots(capture):
                host.denials.all_denied = _denies_everything(document)
            elif text := _text(document):
                host.texts.add(capture.url, text, document.extract.title)


def _is_fetched(capture: Capture) -> bool:
    """Return whether a crawler fetched a capture: not a render, conversion or DNS lookup."""
    return capture.record_type != "conversion" and is_browsed(capture.url)


def _captured_fetch(capture: Capture) -> Fetch:
    return Fetch(
        capture.url,
        host_with_port(capture.url),
        capture.timestamp,
        capture.status_code or 0,
        capture.content_type_norm,
        capture.content_length or 0,
        capture.digest,
        is_revisit=capture.record_type == "revisit",
    )


def _chosen(new: dict[str, Capture]) -> Iterator[str]:
    """Yield the ids of documents to examine: every robots.txt, some pages of each host."""
    of_host: Counter[str] = Counter()
    for id, capture in new.items():
        if _is_robots(capture):
            yield id
        elif capture.content_type_norm == HTML and capture.status_code == 200:
            host = host_with_port(capture.url)
            of_host[host] += 1
            if of_host[host] <= _TEXTS_OF_HOST and of_host.total() <= _TEXTS_AT_ONCE:
                yield id


def _is_robots(capture: Capture) -> bool:
    place = capture.url.find("/", capture.url.find("://") + 3)
    return place > 0 and capture.url[place:] == _ROBOTS and capture.status_code == 200


def _denies_everything(document: Document) -> bool:
    """Return whether a robots.txt denies `/` to all crawlers."""
    rules = RobotFileParser()
    try:
        rules.parse(document.extract.content[:_MOST_ROBOTS_CHARACTERS].splitlines())
    except ValueError:
        return False  # it has an invalid address or number
    return not rules.can_fetch("*", "/")


def _text(document: Document) -> str:
    """Return the common key of near-identical texts, "" without a text."""
    extract = document.extract
    if extract.signature:
        return extract.signature
    letters = "".join(filter(str.isalpha, extract.content[:_MOST_CHARACTERS].casefold()))
    return f"{extract.title} {letters}" if letters else ""


_NOT_DIGITS = re.compile(r"[^0-9]")
_MOST_SHOWN = 3
"""Invalid lines of a part that are shown; all are counted."""


def line_time(line: bytes) -> str:
    """Return the 17-digit time of a crawl.log line, "" for an invalid line."""
    text = line.decode("utf-8", "replace")
    if logged_fetch(text) is None:
        return ""
    return _NOT_DIGITS.sub("", text.split(None, 1)[0])[:17]


class NewLogLines:
    """Adds the new lines of a log to the state of a monitor."""

    def __init__(self, path: Path) -> None:
        self._follower = LogFollower(path, line_time)

    def take(self, state: MonitorState) -> bool:
        """Count the next lines of the log, some megabytes; return whether there were any.

        The state then holds the position after them. Raises SourceError if the log cannot be read.
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
                sums.add_fetch(_logged_fetch(logged))
                is_first = logged.timestamp < earliest or not earliest
                if is_first and sums.believes(logged.timestamp):
                    earliest = logged.timestamp
        state.covered_from = earliest
        _note_wrong(part, wrong, state)

    def close(self) -> None:
        """Close the log."""
        self._follower.close()


def _note_wrong(part: LogPart, wrong: list[int], state: MonitorState) -> None:
    """Count invalid lines, and record the positions of the first ones."""
    if not wrong:
        return
    pieces = part.lines.split(b"\n")
    offset, before = part.offset, 0
    for number in wrong[:_MOST_SHOWN]:
        offset += sum(len(piece) + 1 for piece in pieces[before:number])
        before = number
        state.note(part.file, offset, "this is not a line of a crawl.log")
    state.problems_total += len(wrong) - len(wrong[:_MOST_SHOWN])


def _logged_fetch(logged: LoggedFetch) -> Fetch:
    answered = logged.status >= 0
    mime = "" if logged.mime == UNKNOWN else logged.mime.lower()
    return Fetch(
        logged.url,
        host_with_port(logged.url),
        logged.timestamp,
        logged.status,
        normal_type(mime, logged.url) if answered else UNKNOWN,
        logged.size or 0,
        logged.digest,
        logged.took_ms,
        logged.is_revisit,
    )


STATISTICS_LOG = "progress-statistics.log"
_LAST_BYTES = 16 << 10
_NAMES = ("discovered", "queued", "downloaded")


def logged_queue(crawl_log: Path) -> dict[str, int] | None:
    """Return the counts in the last line of the log next to a crawl.log, None without one.

    They are `discovered`, `queued` and `downloaded` URLs.
    """
    path = crawl_log.with_name(STATISTICS_LOG)
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _LAST_BYTES))
            data = stream.read(_LAST_BYTES)
    except OSError:
        return None
    whole = data[: data.rfind(b"\n") + 1].decode("ascii", "replace")
    for line in reversed(whole.splitlines()):
        counts = line.split()[1:4]
        if len(counts) == len(_NAMES) and all(map(_is_count, counts)):
            return dict(zip(_NAMES, map(int, counts), strict=True))
    return None


def _is_count(text: str) -> bool:
    return len(text) < 16 and text.isascii() and text.isdigit()
