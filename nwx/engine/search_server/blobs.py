"""Blobs and states stored on the server in pieces, and indices that are rebuilt and swapped in."""

import base64
import uuid
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from nwx.bulk.resources import temporary_folder
from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import CURRENT_BUILD, BlobFolder, BlobStore, StoredBuild
from nwx.engine.search_server.pages import entries_by_id, ids_of_all
from nwx.engine.search_server.refusals import INDEX_EXISTS, IndexMissingError, RefusedError
from nwx.engine.search_server.schema import index_body
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.engine.search_server.writes import (
    IGNORE_MISSING,
    BulkAction,
    index_states,
    next_version,
    refresh,
    send,
    swap_versions,
)
from nwx.errors import BlobError, EngineBusyError
from nwx.model import IndexName
from nwx.settings import ServerSettings


class BuiltIndex:
    """The entries of a built index, accessed by an alias."""

    def __init__(
        self, server: Server, kind: IndexName, alias: str, settings: ServerSettings
    ) -> None:
        self._server = server
        self._kind = kind
        self._alias = alias
        self._filling = f"{alias}-filling"
        self._settings = settings

    def fill(self, entries: Iterable[IndexEntry]) -> str:
        """Create an index with these entries; return its name."""
        index = next_version(self._alias, max(index_states(self._server, self._alias), default=""))
        body = index_body(self._kind, self._settings)
        body["aliases"] = {self._filling: {"is_write_index": True}}
        body["settings"]["index"]["refresh_interval"] = "-1"
        self._server.request("DELETE", f"/{quoted(index)}", params=IGNORE_MISSING)
        self._server.request("PUT", f"/{quoted(index)}", body)
        send(self._server, (BulkAction(self._filling, one["id"], one) for one in entries))
        refreshing = {"index": {"refresh_interval": None}}
        self._server.request("PUT", f"/{quoted(index)}/_settings", refreshing)
        refresh(self._server, index)
        return index

    def swap(self, index: str) -> None:
        """Point the alias to another index, and delete the previous one."""
        old = index_states(self._server, self._alias)
        swap_versions(self._server, old, index, [self._alias], self._filling, deletes=True)


_PIECE_BYTES = 4 << 20
_ID = "{}#{}"


class ServerBlobs(BlobStore):
    """The blobs on a server, with copies of those in use in a local folder.

    Each entry of the index is a piece of a blob, with the id `<name>#<number>`; one additional
    entry is the current build.
    """

    def __init__(
        self, server: Server, kind: IndexName, alias: str, settings: ServerSettings, folder: Path
    ) -> None:
        self.folder = folder
        self._server = server
        self._kind = kind
        self._index = f"{alias}-files"
        self._settings = settings
        self._copies = BlobFolder(folder)
        self._built = BuiltIndex(server, kind, alias, settings)
        self._is_made = False

    @abstractmethod
    def _entries(self, build: StoredBuild) -> Iterator[IndexEntry]:
        """Stream the entries of a build, whose blobs are in the folder."""

    def _last_changes(self, names: Iterable[str]) -> str:
        """Return a text that changes whenever entries of the indices are written or deleted.

        Each shard numbers its changes, and a recreated index has a new uuid.
        """
        answer = self._server.request(
            "GET",
            f"/{quoted(','.join(names))}/_stats",
            params={"level": "shards", "filter_path": "indices.*.uuid,indices.*.shards.*.seq_no"},
        )
        numbers = [
            f"{found['uuid']} {shard} {max(copy['seq_no']['max_seq_no'] for copy in copies)}"
            for found in answer["indices"].values()
            for shard, copies in found["shards"].items()
        ]
        return ", ".join(sorted(numbers))

    def version(self) -> str:
        found = self._current_entry("false")
        return f"{found['_primary_term']} {found['_seq_no']}" if found else ""

    def current(self) -> StoredBuild | None:
        found = self._current_entry("true")
        if found is None:
            return None
        return StoredBuild.from_json(
            found["_source"]["data"], f"the build in {self._index} at {self._server.address}"
        )

    def _current_entry(self, source: str) -> Body | None:
        try:
            found = entries_by_id(self._server, self._index, [CURRENT_BUILD], source)
        except IndexMissingError:
            return None
        return found.get(CURRENT_BUILD)

    def blobs(self) -> set[str]:
        self._make_index()
        ids = ids_of_all(self._server, self._index)
        return {id.rpartition("#")[0] for id in ids if id != CURRENT_BUILD}

    def put(self, path: Path) -> None:
        self._make_index()
        send(self._server, self._pieces(path))
        self._copies.put(path)

    def _make_index(self) -> None:
        if not self._is_made:
            make_blob_index(self._server, self._index, self._settings)
            self._is_made = True

    def _pieces(self, path: Path) -> Iterator[BulkAction]:
        with path.open("rb") as file:
            for number in range(_number_of_pieces(path.stat().st_size)):
                data = base64.b64encode(file.read(_PIECE_BYTES)).decode("ascii")
                yield BulkAction(self._index, _ID.format(path.name, number), {"data": data})

    def get(self, blobs: Mapping[str, int]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        here = self._copies.blobs()
        with temporary_folder(self.folder) as fetched:
            for name, size in blobs.items():
                if name not in here:
                    self._fetch(fetched / name, size)
        self._copies.delete(here - set(blobs))

    def _fetch(self, path: Path, size: int) -> None:
        name = path.name
        with path.open("wb") as file:
            for number in range(_number_of_pieces(size)):
                id = _ID.format(name, number)
                found = entries_by_id(self._server, self._index, [id], "true")
                if id not in found:
                    raise BlobError.translated(
                        "%(index)s at %(address)s lacks %(id)s",
                        index=self._index,
                        address=self._server.address,
                        id=id,
                    )
                file.write(base64.b64decode(found[id]["_source"]["data"]))
        self._copies.put(path)

    def delete(self, names: Collection[str]) -> None:
        if names:
            ids = ids_of_all(self._server, self._index)
            gone = [id for id in ids if id.rpartition("#")[0] in names]
            send(self._server, (BulkAction(self._index, id, None, "delete") for id in gone))
            self._copies.delete(names)

    def swap(self, build: StoredBuild, version: str) -> None:
        self._make_index()
        filled = self._built.fill(self._entries(build))
        self._write_current(build, version)
        self._built.swap(filled)

    def _write_current(self, build: StoredBuild, version: str) -> None:
        term, _, number = version.partition(" ")
        control = (("if_seq_no", int(number)), ("if_primary_term", int(term))) if version else ()
        operation = "index" if version else "create"
        entry = {"data": build.to_json()}
        written = send(
            self._server, [BulkAction(self._index, CURRENT_BUILD, entry, operation, control)]
        )
        if "conflict" in written:
            raise EngineBusyError.translated(
                "another build of %(kind)s was written to %(address)s meanwhile; run the same "
                "command again",
                kind=self._kind,
                address=self._server.address,
            )


def make_blob_index(server: Server, alias: str, settings: ServerSettings) -> None:
    """Create an index for blobs if missing; its entries can only be found by id."""
    body: Body = {
        "settings": {"index": {"number_of_replicas": settings.replicas}},
        "mappings": {"enabled": False},
        "aliases": {alias: {"is_write_index": True}},
    }
    try:
        server.request("PUT", f"/{quoted(f'{alias}-000001')}", body)
    except RefusedError as error:
        if INDEX_EXISTS not in error.types:
            raise


def _number_of_pieces(size: int) -> int:
    return -(-size // _PIECE_BYTES)


_STATE_PIECE_BYTES = 3 << 20
_SHORT_STATE_BYTES = 1 << 10
_ATTEMPTS = 5


class ServerStates:
    """The states of an alias's index, stored in the index `<alias>-files`.

    The entry of a state, `state/<name>`, has the ids of its pieces, or a short state itself: during
    a write, readers get either the whole old or the whole new state.
    """

    def __init__(self, server: Server, alias: str, settings: ServerSettings) -> None:
        self._server = server
        self._settings = settings
        self._index = f"{alias}-files"

    def put(self, name: str, state: bytes) -> None:
        """Store bytes under a name, replacing previous ones."""
        make_blob_index(self._server, self._index, self._settings)
        known = self._head(name)
        is_short = len(state) <= _SHORT_STATE_BYTES
        pieces = [] if is_short else list(self._pieces(state))
        send(self._server, pieces)
        head: IndexEntry = {"pieces": [piece.id for piece in pieces], "name": name}
        if is_short:
            head["data"] = base64.b64encode(state).decode("ascii")
        send(self._server, [BulkAction(self._index, f"state/{name}", head)])
        former = known["pieces"] if known else ()
        send(self._server, (BulkAction(self._index, id, None, "delete") for id in former))

    def _pieces(self, state: bytes) -> Iterator[BulkAction]:
        version = uuid.uuid4().hex
        for begin in range(0, len(state), _STATE_PIECE_BYTES):
            data = base64.b64encode(state[begin : begin + _STATE_PIECE_BYTES]).decode("ascii")
            yield BulkAction(
                self._index, f"piece/{version}/{begin // _STATE_PIECE_BYTES}", {"data": data}
            )

    def get(self, name: str) -> bytes | None:
        """Return the bytes last stored under a name, None if missing."""
        for _ in range(_ATTEMPTS):
            head = self._head(name)
            if head is None:
                return None
            if "data" in head:
                return base64.b64decode(head["data"])
            ids = head["pieces"]
            found = entries_by_id(self._server, self._index, ids, "true") if ids else {}
            if len(found) == len(ids):  # else it was replaced meanwhile
                return b"".join(base64.b64decode(found[id]["_source"]["data"]) for id in ids)
        raise BlobError.translated(
            "%(index)s at %(address)s lacks pieces of %(name)s",
            index=self._index,
            address=self._server.address,
            name=name,
        )

    def _head(self, name: str) -> IndexEntry | None:
        id = f"state/{name}"
        try:
            found = entries_by_id(self._server, self._index, [id], "true")
        except IndexMissingError:
            return None
        return found[id]["_source"] if id in found else None

    def names(self) -> list[str]:
        """Return the names of all states, sorted."""
        try:
            ids = ids_of_all(self._server, self._index)
        except IndexMissingError:
            return []
        return sorted(id.removeprefix("state/") for id in ids if id.startswith("state/"))
