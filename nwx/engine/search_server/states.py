"""States beside an index on a server: in pieces, in an index of their own."""

import base64
import uuid
from collections.abc import Iterator

from nwx.engine.entries import IndexEntry
from nwx.engine.search_server.blobs import make_blob_index
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.pages import entries_by_id, ids_of_all
from nwx.engine.search_server.refusals import IndexMissingError
from nwx.engine.search_server.server import Server
from nwx.errors import BlobError, ErrorText
from nwx.settings import ServerSettings

_PIECE_BYTES = 3 << 20
_ATTEMPTS = 5


class ServerStates:
    """The index `<alias>-files` of the index of an alias.

    The entry of a state, `state/<name>`, has the ids of its pieces: who reads
    it while it is put anew gets the one or the other whole.
    """

    def __init__(self, server: Server, alias: str, settings: ServerSettings) -> None:
        self._server = server
        self._settings = settings
        self._index = f"{alias}-files"

    def put(self, name: str, state: bytes) -> None:
        """Keep some bytes in the place of those of that name."""
        make_blob_index(self._server, self._index, self._settings)
        known = self._head(name)
        pieces = list(self._pieces(state))
        send(self._server, pieces)
        head = {"pieces": [piece.id for piece in pieces], "name": name}
        send(self._server, [BulkAction(self._index, f"state/{name}", head)])
        former = known["pieces"] if known else ()
        send(self._server, (BulkAction(self._index, id, None, "delete") for id in former))

    def _pieces(self, state: bytes) -> Iterator[BulkAction]:
        version = uuid.uuid4().hex
        for begin in range(0, len(state), _PIECE_BYTES):
            data = base64.b64encode(state[begin : begin + _PIECE_BYTES]).decode("ascii")
            yield BulkAction(
                self._index, f"piece/{version}/{begin // _PIECE_BYTES}", {"data": data}
            )

    def get(self, name: str) -> bytes | None:
        """Return the bytes that were put under a name last, None where there are none."""
        for _ in range(_ATTEMPTS):
            head = self._head(name)
            if head is None:
                return None
            ids = head["pieces"]
            found = entries_by_id(self._server, self._index, ids, "true") if ids else {}
            if len(found) == len(ids):  # else it was put anew meanwhile
                return b"".join(base64.b64decode(found[id]["_source"]["data"]) for id in ids)
        raise BlobError(
            ErrorText(
                "%(index)s at %(address)s lacks pieces of %(name)s",
                index=self._index,
                address=self._server.address,
                name=name,
            )
        )

    def _head(self, name: str) -> IndexEntry | None:
        id = f"state/{name}"
        try:
            found = entries_by_id(self._server, self._index, [id], "true")
        except IndexMissingError:
            return None
        return found[id]["_source"] if id in found else None

    def names(self) -> list[str]:
        """Return the names of all states, in order."""
        try:
            ids = ids_of_all(self._server, self._index)
        except IndexMissingError:
            return []
        return sorted(id.removeprefix("state/") for id in ids if id.startswith("state/"))
