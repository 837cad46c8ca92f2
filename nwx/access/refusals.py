"""What is said to who asks for the address of something that may not be shown."""

from collections.abc import Iterable

from nwx.access.restricted.engine import RestrictedEngine
from nwx.access.restricted.hidden_urls import HiddenError
from nwx.engine.access.decisions import Decision
from nwx.engine.access.rules import Action
from nwx.engine.base import Engine
from nwx.errors import UrlError
from nwx.values.urlkeys import urlkey


def check_document_shown(engine: Engine, id: str) -> None:
    """Raise HiddenError where the archive has a document of an id and says so, but may not show it.

    Nothing is said of documents that are excluded.
    """
    if isinstance(engine, RestrictedEngine) and (decision := engine.decision(id)):
        _check([decision])


def check_url_shown(engine: Engine, url: str, timestamp: str = "") -> None:
    """Raise HiddenError where all captures of a URL, or those of a moment, may not be shown.

    Nothing is said of URLs that are excluded, or not in the archive.
    """
    if not isinstance(engine, RestrictedEngine):
        return
    try:
        key = urlkey(url)
    except UrlError:
        return
    _check(engine.url_decisions(key, timestamp))


def _check(decisions: Iterable[Decision]) -> None:
    told = None
    for decision in decisions:
        if not decision.is_hidden:
            return
        if decision.action is not Action.EXCLUDE:
            told = told or decision
    if told is not None:
        raise HiddenError.of(told)
