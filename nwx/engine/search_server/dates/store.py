"""Dates on the server: sets that only grow, however many write at once."""

from collections.abc import Iterable, Iterator, Sequence

from nwx.engine.entries import dates_from_entry
from nwx.engine.search_server.dates.additions import Addition
from nwx.engine.search_server.dates.chunks import dates_of_texts
from nwx.engine.search_server.dates.entries import DatesEntries
from nwx.engine.search_server.dates.removals import Removal
from nwx.engine.search_server.server import Body, Server
from nwx.keys import document_id, document_key
from nwx.model import Batch, Dates

DOCUMENTS_AT_ONCE = 1_000

Pair = tuple[str, str]


class DatesStore:
    """The dates of documents in one index.

    Who comes second to an entry reads again and adds to what is there then.
    """

    def __init__(self, server: Server, index: str) -> None:
        self._entries = DatesEntries(server, index)

    def read(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of these ids."""
        found = self._entries.whole(ids)
        dates = {id: _dates(list(bodies.values())) for id, bodies in found.items()}
        return {id: one for id, one in dates.items() if one.seen}

    def add(self, dates: Iterable[Dates]) -> int:
        """Add dates and return how many pairs of timestamp and collection were new."""
        return sum(Addition(self._entries, some).run() for some in _parts(_merged(dates)))

    def remove(self, dates: Iterable[Dates]) -> int:
        """Remove pairs of timestamp and collection; return how many there were."""
        return sum(Removal(self._entries, some).run() for some in _parts(_merged(dates)))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete all dates of documents; return of how many there were any."""
        found = self._entries.whole(ids)
        self._entries.discard((id, name) for id, bodies in found.items() for name in bodies)
        return len(found)


def dates_of_batch(batch: Batch) -> Iterator[Dates]:
    """Give the dates of a batch, those of the captures of its documents included."""
    yield from batch.dates
    for document in (*batch.documents, *batch.amended):
        capture = document.capture
        yield Dates(
            document_key(capture.url, capture.digest), ((capture.timestamp, capture.collection),)
        )


def _dates(bodies: Sequence[Body]) -> Dates:
    """Return the dates of the entries of one document."""
    sources = [body["_source"] for body in bodies]
    if len(sources) == 1:
        return dates_from_entry(sources[0])
    return dates_of_texts(sources[0]["key"], (text for one in sources for text in one["seen"]))


def _merged(dates: Iterable[Dates]) -> dict[str, Dates]:
    pairs: dict[str, set[Pair]] = {}
    for one in dates:
        pairs.setdefault(one.key, set()).update(one.seen)
    return {
        document_id(key): Dates(key, tuple(sorted(seen))) for key, seen in pairs.items() if seen
    }


def _parts(dates: dict[str, Dates]) -> Iterator[dict[str, Dates]]:
    ids = list(dates)
    for start in range(0, len(ids), DOCUMENTS_AT_ONCE):
        yield {id: dates[id] for id in ids[start : start + DOCUMENTS_AT_ONCE]}
