"""The version of the access rules on a server."""

import uuid

from nwx.engine.search_server.blobs import make_blob_index
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.pages import entries_by_id
from nwx.engine.search_server.refusals import IndexMissingError
from nwx.engine.search_server.server import Server
from nwx.settings import ServerSettings

_ID = "version"


class RulesVersion:
    """An entry of the index `<prefix>-access-files`, read by its id, as fresh as the last write.

    It is marked as changing before rules are written, and gets a new version
    after: while it is, each reader is given another version, and so reads
    the rules anew, also where the writer was stopped half-way.
    """

    def __init__(self, server: Server, index: str, settings: ServerSettings) -> None:
        self._server = server
        self._settings = settings
        self._index = index
        self._mark = ""

    def current(self) -> str:
        """Return the version, "" before the first change."""
        try:
            found = entries_by_id(self._server, self._index, [_ID], "true")
        except IndexMissingError:
            return ""
        if not found:
            return ""
        version = str(found[_ID]["_source"]["name"])
        return version or uuid.uuid4().hex

    def begin_change(self) -> None:
        """Let all readers read the rules anew until the change has ended."""
        make_blob_index(self._server, self._index, self._settings)
        self._mark = self.current().rpartition("-")[0] or uuid.uuid4().hex
        self._put("")

    def end_change(self) -> None:
        """Give the rules as they are now a version; its mark stays."""
        mark = self.current().rpartition("-")[0] or self._mark
        self._put(f"{mark}-{uuid.uuid4().hex}")

    def renew(self) -> None:
        """Give the same rules another version, with another mark, where they have one."""
        if self.current():
            self._put(f"{uuid.uuid4().hex}-{uuid.uuid4().hex}")

    def _put(self, version: str) -> None:
        send(self._server, [BulkAction(self._index, _ID, {"name": version})])
