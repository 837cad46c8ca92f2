"""Indices of a search server that are recycled between cases.

Creating an index takes a server longer than most cases. Indices still configured as created are
emptied and reused by the next archive under other aliases. Deleted entries still count in term
statistics: cases about scores and about stored data need a new archive.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from nwx.engine.search_server.schema import LAZY_INDICES
from nwx.engine.search_server.server import Server, quoted
from nwx.engine.search_server.writes import BulkAction
from nwx.model import IndexName

_MOST_ENTRIES = 500
"""Deleting an index with more entries takes less time than emptying it."""

_OF_EACH_INDEX = ("uuid", "creation_date", "provided_name", "version")
_KINDS = tuple(index for index in IndexName if index not in LAZY_INDICES)


@dataclass(slots=True)
class RecycledIndices:
    """The empty indices of one server, by purpose."""

    server: Server
    free: dict[IndexName, list[str]] = field(default_factory=lambda: defaultdict(list))
    made_with: dict[IndexName, Any] = field(default_factory=dict)

    def lend(self, prefix: str) -> None:
        """Assign free indices, as far as available, to the aliases of an archive."""
        lent = {kind: self.free[kind].pop() for kind in _KINDS if self.free[kind]}
        actions = [
            {"add": {"index": name, "alias": f"{prefix}-{kind}", "is_write_index": True}}
            for kind, name in lent.items()
        ]
        if actions:
            self.server.request("POST", "/_aliases", {"actions": actions})

    def note(self, prefix: str) -> None:
        """Record the settings and mappings of a new archive's indices."""
        if len(self.made_with) < len(_KINDS):
            for kind, _, state in self._of_archive(prefix):
                self.made_with.setdefault(kind, _made_with(state))

    def take_back(self, prefix: str) -> None:
        """Empty the indices of an archive with unchanged settings, and delete the others."""
        found = self.server.request("GET", f"/{quoted(prefix)}-*")
        kept = {
            name: kind
            for kind, name, state in self._of_archive(prefix, found)
            if _made_with(state) == self.made_with.get(kind)
        }
        kept = self._emptied(kept)
        if others := [name for name in found if name not in kept]:
            self.server.request("DELETE", f"/{quoted(','.join(others))}")
        if kept:
            remove = {"indices": list(kept), "alias": f"{prefix}-*"}
            self.server.request("POST", "/_aliases", {"actions": [{"remove": remove}]})
        for name, kind in kept.items():
            self.free[kind].append(name)

    def _of_archive(
        self, prefix: str, found: dict[str, Any] | None = None
    ) -> list[tuple[IndexName, str, dict[str, Any]]]:
        """Return the indices of an archive that have exactly one alias."""
        if found is None:
            found = self.server.request("GET", f"/{quoted(prefix)}-*")
        kinds = {f"{prefix}-{kind}": kind for kind in _KINDS}
        return [
            (kinds[alias], name, state)
            for name, state in found.items()
            for alias in state["aliases"]
            if alias in kinds and len(state["aliases"]) == 1
        ]

    def _emptied(self, kept: dict[str, IndexName]) -> dict[str, IndexName]:
        """Empty these indices and return them; return none if that fails or takes too long."""
        if not kept:
            return {}
        names = quoted(",".join(kept))
        self.server.request("POST", f"/{names}/_refresh")
        body = {"_source": False, "size": _MOST_ENTRIES, "track_total_hits": True}
        hits = self.server.request("POST", f"/{names}/_search", body)["hits"]
        if hits["total"]["value"] > _MOST_ENTRIES:
            return {}
        if hits["hits"]:
            actions = (
                BulkAction(hit["_index"], hit["_id"], None, "delete") for hit in hits["hits"]
            )
            lines = b"".join(action.lines() for action in actions)
            done = self.server.request("POST", "/_bulk", lines, params={"refresh": "true"})
            if done["errors"]:
                return {}
        return kept

    def remove(self) -> None:
        """Delete all free indices."""
        names = [name for free in self.free.values() for name in free]
        for start in range(0, len(names), 50):
            some = quoted(",".join(names[start : start + 50]))
            self.server.request("DELETE", f"/{some}")
        self.free.clear()


def _made_with(state: dict[str, Any]) -> Any:
    index = state["settings"]["index"]
    settings = {name: value for name, value in index.items() if name not in _OF_EACH_INDEX}
    return settings, state["mappings"]
