"""A server with entries in memory: reads by id, and conditional writes on the state read."""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from nwx.engine.search_server.server import Server

Entry = dict[str, Any]
_STATUS = {"created": 201, "updated": 200, "deleted": 200, "not_found": 404}


class MemoryServer:
    """The entries of one index, by id; `before` is called before each request is processed."""

    address = place = "memory"

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.before: Callable[[str], None] = lambda path: None
        self.requests: list[str] = []
        self.read_ids = 0
        self.written = 0
        self.versions: dict[str, int] = {}
        self._last = 0

    @property
    def server(self) -> Server:
        return cast(Server, self)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        **_: object,
    ) -> Entry:
        """Answer a request like a search server."""
        what = path.rpartition("/")[2]
        self.before(what)
        self.requests.append(what)
        if what == "_mget":
            self.read_ids += len(body["ids"])
            return {"docs": [self._read(id) for id in body["ids"]]}
        if what == "_bulk":
            return {"items": self._write(body.splitlines())}
        return {}  # of an index that has all fields

    def _read(self, id: str) -> Entry:
        if id not in self.entries:
            return {"_id": id, "found": False}
        version = {"_seq_no": self.versions[id], "_primary_term": 1}
        return {"_id": id, "found": True, "_source": dict(self.entries[id]), **version}

    def _write(self, lines: list[bytes]) -> list[Entry]:
        items: list[Entry] = []
        remaining = iter(lines)
        for line in remaining:
            ((operation, head),) = json.loads(line).items()
            entry = None if operation == "delete" else json.loads(next(remaining))
            items.append({operation: self._written(operation, head, entry)})
        return items

    def _written(self, operation: str, head: Entry, entry: Entry | None) -> Entry:
        id = head["_id"]
        known = self.versions.get(id) if id in self.entries else None
        if (operation == "create" and known is not None) or (
            "if_seq_no" in head and head["if_seq_no"] != known
        ):
            return {"status": 409, "error": {"type": "version_conflict_engine_exception"}}
        self._last += 1
        self.versions[id] = self._last
        self.written += 1
        if entry is None:
            result = "not_found" if self.entries.pop(id, None) is None else "deleted"
        else:
            result = "created" if known is None else "updated"
            self.entries[id] = entry
        return {"status": _STATUS[result], "result": result}
