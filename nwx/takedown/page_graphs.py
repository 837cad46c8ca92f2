"""The triples of purged captures."""

from collections.abc import Sequence

from nwx.engine.base import Engine
from nwx.errors import SettingsError
from nwx.model import Capture
from nwx.settings import Settings
from nwx.steering.triples.terms import analysis_iri, capture_iri, names_iri
from nwx.steering.triples.visible_store import triple_store

_WAIT_SECONDS = 60.0


def remove_graphs(engine: Engine, settings: Settings, pages: Sequence[tuple[str, str]]) -> int:
    """Remove the graphs of captures, pairs of URL and timestamp; return how many there were.

    Raises TripleStoreError where the store cannot be written.
    """
    try:
        store = triple_store(settings)
    except SettingsError:
        return 0  # an archive on a server that has no triples
    if not pages or not store.version():
        return 0
    crawls = [each.name for each in engine.crawl_index().specifications()]
    names = [
        name
        for url, timestamp in pages
        for name in (
            capture_iri(url, timestamp),
            names_iri(url, timestamp),
            *(analysis_iri(url, timestamp, crawl) for crawl in crawls),
        )
    ]
    with store.writer(_WAIT_SECONDS) as writer:
        return writer.erase(names)


def page_of(capture: Capture) -> tuple[str, str] | None:
    """Return what tells the graphs of a capture, None where it has none."""
    is_page = capture.document_id and capture.content_type_norm == "html"
    return (capture.url, capture.timestamp) if is_page else None
