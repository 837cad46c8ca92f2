"""Fetches from the captures that are new in an archive, whoever imports them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from urllib.robotparser import RobotFileParser

from nwx.engine.base import Engine
from nwx.keys import is_browsed, makes_document, precedence
from nwx.model import Capture, Document
from nwx.quality.monitor.state import MonitorState
from nwx.quality.monitor.sums import Fetch
from nwx.values.media_types import HTML

_AT_ONCE = 500
_TEXTS_AT_ONCE, _TEXTS_OF_HOST = 96, 24
_MOST_CHARACTERS = 500
_MOST_ROBOTS_CHARACTERS = 100_000
_ROBOTS = "/robots.txt"

Pause = Callable[[], bool]
"""Called between batches; tells whether to stop."""


class NewCaptures:
    """Adds the captures that were stored since the state of a monitor to it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def take(self, state: MonitorState, until: str, pause: Pause) -> None:
        """Count the captures up to a mark, in batches; the state is right between them.

        Raises StaleMarkError where the archive does not know the state's mark.
        """
        if not until:
            return
        stored = self._engine.captures_since(state.mark, until, state.collection)
        while batch := list(islice(stored, _AT_ONCE)):
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
                state.sums.add_fetch(_fetch(one))
        self._look_into(new, state)

    def _look_into(self, new: dict[str, Capture], state: MonitorState) -> None:
        """Count the texts of some new pages, and read what new robots.txt say."""
        chosen = list(_chosen(new))
        for id, document in self._engine.documents(chosen).items():
            capture = new[id]
            host = state.sums.hosts.at(capture.host)
            if _is_robots(capture):
                host.denials.all_denied = _denies_everything(document)
            elif text := _text(document):
                host.texts.add(capture.url, text, document.extract.title)


def _is_fetched(capture: Capture) -> bool:
    """Tell whether a capture is one of a crawler: no render, no conversion, no name looked up."""
    return capture.record_type != "conversion" and is_browsed(capture.url)


def _fetch(capture: Capture) -> Fetch:
    return Fetch(
        capture.url,
        capture.host,
        capture.timestamp,
        capture.status_code or 0,
        capture.content_type_norm,
        capture.content_length or 0,
        capture.digest,
        is_revisit=capture.record_type == "revisit",
    )


def _chosen(new: dict[str, Capture]) -> Iterator[str]:
    """Give the ids of documents that are looked into: every robots.txt, some pages of each host."""
    of_host: Counter[str] = Counter()
    for id, capture in new.items():
        if _is_robots(capture):
            yield id
        elif capture.content_type_norm == HTML and capture.status_code == 200:
            of_host[capture.host] += 1
            if of_host[capture.host] <= _TEXTS_OF_HOST and of_host.total() <= _TEXTS_AT_ONCE:
                yield id


def _is_robots(capture: Capture) -> bool:
    place = capture.url.find("/", capture.url.find("://") + 3)
    return place > 0 and capture.url[place:] == _ROBOTS and capture.status_code == 200


def _denies_everything(document: Document) -> bool:
    """Tell whether a robots.txt lets no crawler have the first page."""
    rules = RobotFileParser()
    try:
        rules.parse(document.extract.content[:_MOST_ROBOTS_CHARACTERS].splitlines())
    except ValueError:
        return False  # an address or a number in it is none
    return not rules.can_fetch("*", "/")


def _text(document: Document) -> str:
    """Return what near-identical texts have in common, "" where there is no text."""
    extract = document.extract
    if extract.signature:
        return extract.signature
    letters = "".join(filter(str.isalpha, extract.content[:_MOST_CHARACTERS].casefold()))
    return f"{extract.title} {letters}" if letters else ""
