"""The index access on a server: rules, and the log of their changes."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from nwx.engine.access.access_index import AccessChange, AccessIndex, ChangeKind
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.entries import (
    CHANGE,
    RULE,
    change_entry,
    change_from_entry,
    rule_entry,
    rule_from_entry,
)
from nwx.engine.access.planned_changes import (
    changes_by_removing,
    changes_by_storing,
    checked_rules,
)
from nwx.engine.access.rules import AccessRule
from nwx.engine.entries import IndexEntry
from nwx.engine.search_server.access.rules_version import RulesVersion
from nwx.engine.search_server.blobs import ServerStates
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.pages import pages, search_page
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName
from nwx.settings import ServerSettings

_WINDOW = 10_000


class ServerAccessIndex(AccessIndex):
    """The index `<prefix>-access`, made when it is first written to."""

    def __init__(self, server: Server, schema: Schema, settings: ServerSettings) -> None:
        self._server = server
        self._schema = schema
        self._index = schema.name(IndexName.ACCESS)
        self._states = ServerStates(server, self._index, settings)
        self._version = RulesVersion(server, f"{self._index}-files", settings)
        self._rules = AccessRules()

    def version(self) -> str:
        return self._version.current()

    def rules(self) -> AccessRules:
        version = self.version()
        known = self._rules
        if version == known.version:
            return known
        # Rules that are newer than the version are read again once that has changed.
        self._rules = AccessRules(self._stored().values(), version)
        return self._rules

    def put(self, rules: Iterable[AccessRule], by: str) -> tuple[AccessRule, ...]:
        stored = checked_rules(rules, by)
        if not stored:
            return ()
        known = self._stored()
        changes = changes_by_storing(stored, known, by)
        if changes:
            if not self._schema.is_made(IndexName.ACCESS):
                self._schema.create_lazily(IndexName.ACCESS)
            self._write(changes)
        known |= {change.rule.id: change.rule for change in changes}
        return tuple(known[rule.id] for rule in stored)

    def remove(self, ids: Collection[str], by: str) -> int:
        changes = changes_by_removing(ids, self._stored(), by)
        if changes:
            self._write(changes)
        return len(changes)

    def renew(self) -> None:
        self._version.renew()

    def _write(self, changes: Sequence[AccessChange]) -> None:
        self._version.begin_change()
        send(self._server, self._actions(changes))
        self._version.end_change()

    def _actions(self, changes: Iterable[AccessChange]) -> Iterator[BulkAction]:
        begin = time.time_ns()
        for number, change in enumerate(changes):
            entry = rule_entry(change.rule)
            if change.kind is ChangeKind.REMOVED:
                yield BulkAction(self._index, entry["id"], None, "delete")
            else:
                yield BulkAction(self._index, entry["id"], entry)
            noted = change_entry(change, f"{begin + number:020}-{change.rule.id}")
            yield BulkAction(self._index, noted["id"], noted, "create")

    def changes(self, limit: int, offset: int = 0) -> list[AccessChange]:
        if offset + limit <= _WINDOW:
            if not self._refreshed():
                return []
            body: Body = {"query": _of_kind(CHANGE), "sort": [{"id": "desc"}]}
            body |= {"from": offset, "size": limit, "track_total_hits": False}
            hits = search_page(self._server, self._index, body)["hits"]["hits"]
            return [change_from_entry(hit["_source"]) for hit in hits]
        entries = self._entries(CHANGE, "desc")
        return [change_from_entry(entry) for entry in islice(entries, offset, offset + limit)]

    def put_state(self, name: str, state: bytes) -> None:
        self._states.put(name, state)

    def state(self, name: str) -> bytes | None:
        return self._states.get(name)

    def _stored(self) -> dict[str, AccessRule]:
        rules = map(rule_from_entry, self._entries(RULE, "asc"))
        return {rule.id: rule for rule in rules}

    def _entries(self, kind: str, order: str) -> Iterator[IndexEntry]:
        if self._refreshed():
            for page in pages(
                self._server, self._index, {"query": _of_kind(kind)}, [{"id": order}]
            ):
                for hit in page:
                    yield hit["_source"]

    def _refreshed(self) -> bool:
        """Make what was written visible to searches; return whether there is an index."""
        if not self._schema.is_made(IndexName.ACCESS):
            return False
        refresh(self._server, self._index)
        return True


def _of_kind(kind: str) -> Body:
    return {"term": {"kind": kind}}
