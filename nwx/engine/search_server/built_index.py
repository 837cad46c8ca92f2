"""An index that is built: made anew for each build, and put in the place of the one before."""

from collections.abc import Iterable

from nwx.engine.entries import IndexEntry
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.schema import index_body
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.model import IndexName
from nwx.settings import ServerSettings

_DIGITS = 6


class BuiltIndex:
    """The entries of an index that is built, behind an alias."""

    def __init__(
        self, server: Server, kind: IndexName, alias: str, settings: ServerSettings
    ) -> None:
        self._server = server
        self._kind = kind
        self._alias = alias
        self._filling = f"{alias}-filling"
        self._settings = settings

    def fill(self, entries: Iterable[IndexEntry]) -> str:
        """Return the name of a new index that holds these entries."""
        index = f"{self._alias}-{self._last_number() + 1:0{_DIGITS}}"
        body = index_body(self._kind, self._settings)
        body["aliases"] = {self._filling: {"is_write_index": True}}
        body["settings"]["index"]["refresh_interval"] = "-1"
        self._server.request("DELETE", f"/{quoted(index)}", params={"ignore_unavailable": "true"})
        self._server.request("PUT", f"/{quoted(index)}", body)
        send(self._server, (BulkAction(self._filling, one["id"], one) for one in entries))
        refreshing = {"index": {"refresh_interval": None}}
        self._server.request("PUT", f"/{quoted(index)}/_settings", refreshing)
        refresh(self._server, index)
        return index

    def swap(self, index: str) -> None:
        """Let the alias stand for another index, and remove what it stood for."""
        actions: list[Body] = [{"remove_index": {"index": name}} for name in self._indices()]
        added = {"index": index, "alias": self._alias, "is_write_index": True}
        removed = {"index": index, "alias": self._filling}
        actions += [{"add": added}, {"remove": removed}]
        self._server.request("POST", "/_aliases", {"actions": actions})

    def _last_number(self) -> int:
        numbers = [int(name.rpartition("-")[2]) for name in self._indices()]
        return max(numbers, default=0)

    def _indices(self) -> list[str]:
        """Return the names of the indices that the alias stands for."""
        found = self._server.request(
            "GET", f"/{quoted(self._alias)}", params={"ignore_unavailable": "true"}
        )
        return sorted(found)
