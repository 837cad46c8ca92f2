"""Changes of the number of shards of an index on a server: split, or copied into a new one."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from nwx import mappings
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.captures import values_of
from nwx.engine.search_server.capture_store import capture_action, captures_of, read_fields
from nwx.engine.search_server.pages import count_hits, walk
from nwx.engine.search_server.refusals import IndexMissingError, RefusedError
from nwx.engine.search_server.schema import index_mapping
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.engine.search_server.writes import (
    BulkAction,
    allow_writes,
    block_writes,
    current_version,
    delete_unplaced,
    index_states,
    next_version,
    refresh,
    send,
    shard_health,
    swap_versions,
)
from nwx.errors import EngineError, PartialAnswerError, UsageError
from nwx.model import IndexName

SPLIT, COPIED = "split", "copied"
"""How the number of shards of an index was changed."""

_EVERYTHING: Body = {"match_all": {}}
_BAD_REQUEST, _NOT_IN_TIME = 400, 408
_LOOK_SECONDS = 0.5
_LONGEST_READING_SECONDS = 330.0
"""After this time every reader's point in time has expired (`pages`)."""

_SETTINGS_OF_ITS_OWN = (
    *("uuid", "creation_date", "provided_name", "version", "blocks", "resize"),
    *("history", "routing", "verified_read_only", "number_of_shards", "number_of_routing_shards"),
    *("routing_partition_size", "replication"),
)
"""Settings that a new index must not copy from another."""


class Resharding:
    """Changes the number of shards of an alias's index.

    An index made in another form by an older nwx is copied, and its texts are analysed again.
    """

    def __init__(self, server: Server, alias: str, index: IndexName) -> None:
        self._server = server
        self._alias = alias
        self._filling = f"{alias}-resharding"
        self._index = index
        self._form: Body = mappings.mapping(index).get("settings", {})

    def run(self, shards: int, progress: ShowProgress) -> str:
        """Change the number of shards; return SPLIT or COPIED, as `Shards.reshard`."""
        old, state = self._current()
        health = shard_health(self._server, old)
        if health.shards == shards and self._has_form(state):
            self._remove_leftovers(old)  # of a run that was killed after its swap
            raise UsageError(f"{self._alias} already has {shards} shards")
        if health.lost:
            raise PartialAnswerError(
                f"shards of {old} are lost: {', '.join(map(str, health.lost))}; see `nwx stats`"
            )
        new = next_version(self._alias, old)
        self._remove_leftovers(old)
        with self._blocked(old, new):
            refresh(self._server, old)
            how = self._make(old, state, new, (health.shards, shards), progress)
            self._wait_for_copies(new, progress)
            self._check_same(old, new)
            self._follow_mapping(old, new, how)
            allow_writes(self._server, new)  # a split index inherits the block
            filling = self._filling if how == COPIED else ""
            swap_versions(self._server, [old], new, state["aliases"], filling)
        self._delete_unread(old)
        return how

    def has_form(self) -> bool:
        """Return whether texts are analysed and entries stored as by this version of nwx."""
        return all(map(self._has_form, index_states(self._server, self._alias).values()))

    def _has_form(self, state: Body) -> bool:
        settings = state["settings"]["index"]
        return all(settings.get(name) == value for name, value in self._form.items())

    def undo(self) -> None:
        """Delete leftovers of a killed run, and allow writes to the index."""
        old, _ = self._current()
        if not self._remove_leftovers(old) and not shard_health(self._server, old).blocked:
            raise UsageError(f"{self._alias} is writable; there is nothing to undo")
        allow_writes(self._server, old)

    def _current(self) -> tuple[str, Body]:
        found = current_version(self._server, self._alias)
        if not found[0]:
            raise IndexMissingError(f"there is no index {self._alias} at {self._server.address}")
        return found

    def _remove_leftovers(self, current: str) -> list[str]:
        """Remove and return other versions of the index, left by a killed run."""
        own = re.compile(rf"{re.escape(self._alias)}-\d{{6}}")
        found = index_states(self._server, f"{self._alias}-*")
        others = [name for name in found if own.fullmatch(name) and name != current]
        for name in others:
            delete_unplaced(self._server, name, self._filling)
        return others

    @contextmanager
    def _blocked(self, old: str, new: str) -> Iterator[None]:
        """Block writes within the context; on an error, restore the previous state."""
        try:
            block_writes(self._server, old)
            yield
        except BaseException:
            with suppress(EngineError):
                delete_unplaced(self._server, new, self._filling)
            allow_writes(self._server, old)
            raise

    def _make(
        self, old: str, state: Body, new: str, shards: tuple[int, int], progress: ShowProgress
    ) -> str:
        before, after = shards
        can_split = after % before == 0 and self._has_form(state)
        if can_split and self._is_split(old, state, new, after):
            return SPLIT
        self._copy(old, state, new, after, progress)
        return COPIED

    def _is_split(self, old: str, state: Body, new: str, shards: int) -> bool:
        """Split on the server, which links files; return False if the shard counts forbid it."""
        settings = {
            "index.number_of_shards": shards,
            "index.number_of_replicas": state["settings"]["index"]["number_of_replicas"],
        }
        try:
            path = f"/{quoted(old)}/_split/{quoted(new)}"
            self._server.request("PUT", path, {"settings": settings})
        except RefusedError as error:
            if error.status == _BAD_REQUEST:
                return False
            raise
        return True

    def _copy(self, old: str, state: Body, new: str, shards: int, progress: ShowProgress) -> None:
        index = state["settings"]["index"]
        kept = {name: one for name, one in index.items() if name not in _SETTINGS_OF_ITS_OWN}
        filling = {"number_of_shards": shards, "number_of_replicas": 0, "refresh_interval": "-1"}
        made: Body = {
            "settings": {"index": kept | self._form | filling},
            "mappings": self._mapping(state),
            "aliases": {self._filling: {"is_write_index": True}},
        }
        self._server.request("PUT", f"/{quoted(new)}", made)
        total, done = count_hits(self._server, old, _EVERYTHING), 0
        is_captures = self._index is IndexName.CAPTURES
        body = read_fields(self._server) if is_captures else {"version": True}
        body |= {"query": _EVERYTHING, "track_total_hits": False}
        for page in walk(self._server, old, body):
            send(self._server, self._actions(old, page))
            done += len(page)
            progress(WorkProgress(f"copying {self._alias}", done, total))
        put_back = {
            "number_of_replicas": index["number_of_replicas"],
            "refresh_interval": index.get("refresh_interval"),
        }
        self._server.request("PUT", f"/{quoted(new)}/_settings", {"index": put_back})

    def _mapping(self, state: Body) -> Body:
        """Return the mapping of a copy: this version's for captures, else the same."""
        if self._index is not IndexName.CAPTURES:
            return dict(state["mappings"])
        return index_mapping(self._index, state["mappings"].get("_meta", {}))

    def _actions(self, old: str, page: Sequence[Body]) -> Iterator[BulkAction]:
        if self._index is IndexName.CAPTURES:
            for row in values_of(captures_of(self._server, old, page)):
                yield capture_action(self._server, self._filling, row, "index")
            return
        for hit in page:
            # A document's version is the precedence of its capture.
            version = (("version", hit["_version"]), ("version_type", "external"))
            yield BulkAction(self._filling, hit["_id"], hit["_source"], control=version)

    def _wait_for_copies(self, new: str, progress: ShowProgress) -> None:
        """Wait until each shard, and each copy that a node can hold, is active."""
        params = {"wait_for_status": "yellow", "wait_for_no_initializing_shards": "true"}
        path, done = f"/_cluster/health/{quoted(new)}", 0.0
        while True:
            try:
                answer = self._server.request("GET", path, params=params | {"timeout": "5s"})
            except RefusedError as error:
                if error.status != _NOT_IN_TIME:
                    raise
                if not index_states(self._server, new):
                    raise EngineError(f"{new} was deleted meanwhile; try again") from error
            else:
                if not answer["timed_out"]:
                    return
                done = answer["active_shards_percent_as_number"]
            progress(WorkProgress(f"starting shards of {self._alias}", int(done), 100))

    def _check_same(self, old: str, new: str) -> None:
        """Raise EngineError if entries of the old index are missing in the new one."""
        if not shard_health(self._server, old).blocked:
            raise EngineError(
                f"{old} was writable meanwhile, as after `nwx reshard INDEX --undo`; nothing was"
                f" changed; try again"
            )
        refresh(self._server, new)
        before, after = (count_hits(self._server, one, _EVERYTHING) for one in (old, new))
        if before != after:
            raise EngineError(
                f"{new} has {after} entries, {old} has {before}; nothing was changed; try again"
            )

    def _follow_mapping(self, old: str, new: str, how: str) -> None:
        """Copy changes made to the mapping meanwhile, which the write block does not prevent."""
        state = index_states(self._server, old)[old]
        mapping = self._mapping(state) if how == COPIED else state["mappings"]
        self._server.request("PUT", f"/{quoted(new)}/_mapping", mapping)

    def _delete_unread(self, old: str) -> None:
        """Delete the old index once no searches read from it, at most after a limit."""
        end = time.monotonic() + _LONGEST_READING_SECONDS
        while time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
            found = self._server.request("GET", f"/{quoted(old)}/_stats/search")
            if not found["_all"]["total"]["search"]["open_contexts"]:
                break
        self._server.request("DELETE", f"/{quoted(old)}")
