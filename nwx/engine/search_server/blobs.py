"""Blobs on the server: in pieces, in an index of their own beside the index built of them."""

import base64
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from nwx.bulk.resources import temporary_folder
from nwx.engine.blob_folder import CURRENT_BUILD, BlobFolder
from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import BlobStore, StoredBuild
from nwx.engine.search_server.built_index import BuiltIndex
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.pages import entries_by_id, ids_of_all
from nwx.engine.search_server.refusals import INDEX_EXISTS, IndexMissingError, RefusedError
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.errors import BlobError, EngineBusyError, ErrorText
from nwx.model import IndexName
from nwx.settings import ServerSettings

_PIECE_BYTES = 4 << 20
_ID = "{}#{}"


class ServerBlobs(BlobStore):
    """The blobs of a server, with copies of those in use in a folder of this machine.

    An entry of the index is a piece of a blob, with the id `<name>#<number>`;
    one more is the current build.
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

    @abstractmethod
    def _entries(self, build: StoredBuild) -> Iterator[IndexEntry]:
        """Stream the entries of a build, whose blobs are in the folder."""

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
        make_blob_index(self._server, self._index, self._settings)
        ids = ids_of_all(self._server, self._index)
        return {id.rpartition("#")[0] for id in ids if id != CURRENT_BUILD}

    def put(self, path: Path) -> None:
        make_blob_index(self._server, self._index, self._settings)
        send(self._server, self._pieces(path))
        self._copies.put(path)

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
                    raise BlobError(
                        ErrorText(
                            "%(index)s at %(address)s lacks %(id)s",
                            index=self._index,
                            address=self._server.address,
                            id=id,
                        )
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
        make_blob_index(self._server, self._index, self._settings)
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
            raise EngineBusyError(
                ErrorText(
                    "another build of %(kind)s was put on %(address)s meanwhile; run the same "
                    "command again",
                    kind=self._kind,
                    address=self._server.address,
                )
            )


def make_blob_index(server: Server, alias: str, settings: ServerSettings) -> None:
    """Make an index for blobs where there is none: its entries are found by their ids alone."""
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
