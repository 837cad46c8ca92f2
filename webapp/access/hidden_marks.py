"""Marks of what readers do not see, for curators and administrators, who see it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from flask import Flask, g

from nwx.access.restricted.engine import RestrictedEngine
from nwx.engine.access.decisions import SHOWS_ALL, Decisions
from nwx.engine.access.rules import EVERYBODY, Action
from nwx.errors import FormatError
from nwx.values.urlkeys import urlkey
from webapp.site.context import service, unrestricted_engine
from webapp.site.viewer import viewer


@dataclass(frozen=True, slots=True)
class HiddenMark:
    """What readers do not see of a document: `hidden` of its `captures`, and why, if it is all.

    `action` is None, and `reason` "", where they see some captures.
    """

    hidden: int
    captures: int
    action: Action | None = None
    reason: str = ""


def hidden_marks(ids: Sequence[str]) -> dict[str, HiddenMark]:
    """Return the marks of those of some documents of which readers do not see all.

    To readers none are shown: what is hidden from them has no mark.
    """
    if not viewer().sees_all:
        return {}
    everybody = service().engines.for_viewer(EVERYBODY)
    if not isinstance(everybody, RestrictedEngine):
        return {}
    own, shown = unrestricted_engine().dates(ids), everybody.dates(ids)
    marks = {}
    for id, dates in own.items():
        seen = len(shown[id].seen) if id in shown else 0
        if seen < len(dates.seen):
            marks[id] = _mark(everybody, id, len(dates.seen) - seen, len(dates.seen))
    return marks


def _mark(everybody: RestrictedEngine, id: str, hidden: int, captures: int) -> HiddenMark:
    decision = everybody.decision(id) if hidden == captures else None
    if decision is None or not decision.is_hidden:
        return HiddenMark(hidden, captures)
    reason = decision.rule.reason if decision.rule else ""
    return HiddenMark(hidden, captures, decision.action, reason)


class _Place(NamedTuple):
    """What rules look at in a capture."""

    urlkey: str
    url: str
    digest: str
    collection: str
    source_file: str
    timestamp: str


def prepare_hidden_marks(app: Flask) -> None:
    """Let templates mark what they show."""
    app.jinja_env.globals.update(
        mark_of_capture=mark_of_capture, mark_of_url=mark_of_url, counts_hidden=counts_hidden
    )


def mark_of_capture(
    url: str, timestamp: str, digest: str = "", collection: str = "", source_file: str = ""
) -> HiddenMark | None:
    """Return the mark of a capture that readers do not see, None of others and for readers.

    What is not known of the capture is "": rules about it then do not count.
    """
    decisions = _reader_decisions()
    if decisions.hides_nothing:
        return None
    with suppress(FormatError):
        place = _Place(urlkey(url), url, digest, collection, source_file, timestamp)
        decision = decisions.decide(place)
        if decision.is_hidden:
            reason = decision.rule.reason if decision.rule else ""
            return HiddenMark(1, 1, decision.action, reason)
    return None


def mark_of_url(url: str) -> HiddenMark | None:
    """Return the mark of a URL that readers do not see, None of others and for readers."""
    if _reader_decisions().hides_nothing:
        return None
    everybody = service().engines.for_viewer(EVERYBODY)
    is_hidden = isinstance(everybody, RestrictedEngine) and url in everybody.hidden_urls([url])
    return HiddenMark(1, 1) if is_hidden else None


def counts_hidden() -> bool:
    """Tell whether what is counted for whoever asks has parts that readers do not see."""
    return not _reader_decisions().hides_nothing


def _reader_decisions() -> Decisions:
    """Return what readers may see, where whoever asks sees more."""
    if not viewer().sees_all:
        return SHOWS_ALL
    found: Decisions | None = g.get("reader_decisions")
    if found is None:
        rules = unrestricted_engine().access_index().rules()
        found = g.reader_decisions = rules.for_viewer(EVERYBODY)
    return found
