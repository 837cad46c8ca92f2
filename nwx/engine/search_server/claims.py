"""Claims of files on the server, in the entries of the ledger that they are about."""

from collections.abc import Collection

from nwx.engine.entries import IndexEntry, file_entry, file_from_entry, file_id
from nwx.engine.ledger import Claim, ClaimChange, ClaimedFile, FileClaims
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.pages import entries_by_id, pages
from nwx.engine.search_server.server import Body, Server, pause
from nwx.errors import EngineBusyError

_ATTEMPTS = 20
_CLAIM = ("holder", "counter", "lease_seconds", "ended")
LISTED: Body = {"exists": {"field": "done_to"}}
"""Finds the entries of files; the others are claims of files that nothing was imported of yet."""


class ServerFileClaims(FileClaims):
    """The index of the ledger; an entry is written only over the state that was read."""

    def __init__(self, server: Server, index: str) -> None:
        self._server = server
        self._index = index

    def read(self, collection: str, names: Collection[str]) -> dict[str, ClaimedFile]:
        found = self._found(collection, names)
        return {name: _claimed(collection, name, hit) for name, hit in found.items()}

    def _found(self, collection: str, names: Collection[str]) -> dict[str, Body | None]:
        ids = {name: file_id(collection, name) for name in dict.fromkeys(names)}
        found = entries_by_id(self._server, self._index, list(ids.values()), "true")
        return {name: found.get(id) for name, id in ids.items()}

    def update(
        self, collection: str, names: Collection[str], change: ClaimChange
    ) -> dict[str, ClaimedFile]:
        done: dict[str, ClaimedFile] = {}
        for attempt in range(_ATTEMPTS):
            if attempt:
                pause(min(attempt, 4))
            found = self._found(collection, names)
            rows = {name: _claimed(collection, name, hit) for name, hit in found.items()}
            changes = {name: new for name, row in rows.items() if (new := change(row)) is not None}
            actions = (_action(self._index, new, found[name]) for name, new in changes.items())
            outcomes = dict(zip(changes, send(self._server, actions), strict=True))
            names = [name for name, outcome in outcomes.items() if outcome == "conflict"]
            done |= {name: row for name, row in (rows | changes).items() if name not in names}
            if not names:
                return done
        raise EngineBusyError(
            f"others keep writing the ledger entries of {len(names)} files "
            f"at {self._server.address}; try again later"
        )

    def held(self) -> list[ClaimedFile]:
        refresh(self._server, self._index)
        ended = {"term": {"ended": True}}
        query = {"bool": {"filter": [{"exists": {"field": "holder"}}], "must_not": [ended]}}
        by_name = [{"collection": "asc"}, {"name": "asc"}, {"id": "asc"}]
        found = pages(self._server, self._index, {"query": query}, by_name)
        return [_claimed("", "", hit) for page in found for hit in page]


def _claimed(collection: str, name: str, found: Body | None) -> ClaimedFile:
    if found is None:
        return ClaimedFile(collection, name)
    entry = found["_source"]
    return ClaimedFile(
        entry["collection"],
        entry["name"],
        file_from_entry(entry) if "done_to" in entry else None,
        Claim(*(entry[name] for name in _CLAIM)) if "holder" in entry else None,
    )


def _action(index: str, change: ClaimedFile, found: Body | None) -> BulkAction:
    """Return the action that replaces the found entry with a change."""
    id = file_id(change.collection, change.name)
    entry = _entry(id, change)
    if found is None:
        return BulkAction(index, id, entry, "create" if entry else "delete")
    control = (("if_seq_no", found["_seq_no"]), ("if_primary_term", found["_primary_term"]))
    return BulkAction(index, id, entry, "index" if entry else "delete", control)


def _entry(id: str, change: ClaimedFile) -> IndexEntry | None:
    if change.file is None and change.claim is None:
        return None
    named: IndexEntry = {"id": id, "collection": change.collection, "name": change.name}
    entry = named if change.file is None else file_entry(change.file)
    claim = change.claim
    return entry | ({name: getattr(claim, name) for name in _CLAIM} if claim else {})
