"""Claims of files on the server, in the entries of the ledger that they are about."""

from collections.abc import Collection, Mapping

from nwx.engine.capabilities import Claim, ClaimChange, ClaimedFile, FileClaims
from nwx.engine.entries import IndexEntry, file_entry, file_from_entry, file_id
from nwx.engine.search_server.entries.store import ServerEntryStore
from nwx.engine.search_server.server import Body

_CLAIM = ("holder", "counter", "lease_seconds", "ended")
LISTED: Body = {"exists": {"field": "done_to"}}
"""Finds the entries of files; the others are claims of files that nothing was imported of yet."""


class ServerFileClaims(FileClaims):
    """The claims in the entries of the ledger, `store`."""

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store

    def read(self, collection: str, names: Collection[str]) -> dict[str, ClaimedFile]:
        by_id = {file_id(collection, name): name for name in names}
        found = self._store.get(by_id)
        return {name: _claimed(collection, name, found.get(id)) for id, name in by_id.items()}

    def update(
        self, collection: str, names: Collection[str], change: ClaimChange
    ) -> dict[str, ClaimedFile]:
        by_id = {file_id(collection, name): name for name in names}
        rows: dict[str, ClaimedFile] = {}

        def changed(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            found = {id: _claimed(collection, by_id[id], entry) for id, entry in known.items()}
            new = {id: row for id, old in found.items() if (row := change(old)) is not None}
            rows.update({row.name: row for row in (found | new).values()})
            return {id: _entry(id, row) for id, row in new.items()}

        self._store.update(by_id, changed)
        return rows

    def held(self) -> list[ClaimedFile]:
        ended = {"term": {"ended": True}}
        query = {"bool": {"filter": [{"exists": {"field": "holder"}}], "must_not": [ended]}}
        by_name = [{"collection": "asc"}, {"name": "asc"}, {"id": "asc"}]
        return [_claimed("", "", hit["_source"]) for hit in self._store.stream(query, by_name)]


def _claimed(collection: str, name: str, entry: IndexEntry | None) -> ClaimedFile:
    if entry is None:
        return ClaimedFile(collection, name)
    return ClaimedFile(
        entry["collection"],
        entry["name"],
        file_from_entry(entry) if "done_to" in entry else None,
        Claim(*(entry[name] for name in _CLAIM)) if "holder" in entry else None,
    )


def _entry(id: str, change: ClaimedFile) -> IndexEntry | None:
    if change.file is None and change.claim is None:
        return None
    named: IndexEntry = {"id": id, "collection": change.collection, "name": change.name}
    entry = named if change.file is None else file_entry(change.file)
    claim = change.claim
    return entry | ({name: getattr(claim, name) for name in _CLAIM} if claim else {})
