"""What is leased of each host: the last lease, and how many URLs are leased until when."""

import hashlib
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf

from nwx.engine.entries import IndexEntry
from nwx.engine.queue.crawl_queue import LeaseLimits
from nwx.engine.search_server.entry_store import ServerEntryStore, StoredEntry, term
from nwx.engine.search_server.server import Body, pause
from nwx.errors import EngineBusyError

HOST_KIND = "host"
_ATTEMPTS = 40
_MOST_HOSTS = 10_000
_LONGEST_PAUSE = 3


@dataclass(frozen=True, slots=True)
class HostState:
    """When a host was leased from last, and how many of its URLs are leased until when."""

    leased_at: float
    leases: Mapping[int, int]

    def left(self, limits: LeaseLimits, now: float) -> float:
        """Return how many more URLs of the host may be leased now."""
        if limits.delay_seconds > 0 and self.leased_at > now - limits.delay_seconds:
            return 0
        in_flight = sum(number for until, number in self.leases.items() if until > now)
        left = inf if limits.in_flight is None else max(0, limits.in_flight - in_flight)
        return min(left, 1) if limits.delay_seconds > 0 else left

    def with_leases(self, number: int, until: int, now: float) -> "HostState":
        """Return the state once so many more are leased; leases that have ended are forgotten."""
        kept = {key: count for key, count in self.leases.items() if key > now}
        kept[until] = kept.get(until, 0) + number
        return HostState(now, kept)

    def without(self, ended: Mapping[int, int]) -> "HostState":
        """Return the state once leases, by the time they last until, were ended."""
        kept = {key: count - ended.get(key, 0) for key, count in self.leases.items()}
        return HostState(self.leased_at, {key: count for key, count in kept.items() if count > 0})

    def entry(self, host: str) -> IndexEntry:
        """Return the entry of the index."""
        return {
            "id": _id(host),
            "kind": HOST_KIND,
            "host": host,
            "leased_at": self.leased_at,
            "in_flight": sum(self.leases.values()),
            "leased_until": min(self.leases, default=0),
            "leases": {str(until): number for until, number in self.leases.items()},
        }


class QueueHosts:
    """The states of hosts, each changed by one writer at a time."""

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store

    def blocked(self, limits: LeaseLimits, now: float) -> list[str]:
        """Return hosts that nothing may be leased of now; they are checked again by `claim`."""
        conditions: list[Body] = []
        if limits.delay_seconds > 0:
            conditions.append({"range": {"leased_at": {"gt": now - limits.delay_seconds}}})
        if limits.in_flight is not None:
            full = [
                {"range": {"in_flight": {"gte": limits.in_flight}}},
                {"range": {"leased_until": {"gt": now}}},
            ]
            conditions.append({"bool": {"filter": full}})
        if not conditions:
            return []
        query = {
            "bool": {
                "filter": [term("kind", HOST_KIND)],
                "should": conditions,
                "minimum_should_match": 1,
            }
        }
        body: Body = {"query": query, "size": _MOST_HOSTS, "_source": ["host"]}
        found = self._store.search(body | {"track_total_hits": False})["hits"]["hits"]
        return [hit["_source"]["host"] for hit in found]

    def in_flight(self, host: str, now: float) -> int:
        """Return how many URLs of a host are noted as leased now."""
        leases = self._read([host])[1][host].leases
        return sum(number for until, number in leases.items() if until > now)

    def claim(
        self, wanted: Mapping[str, int], limits: Mapping[str, LeaseLimits], until: int
    ) -> dict[str, int]:
        """Note leases of as many URLs of hosts as are wanted and may be leased; return how many."""
        claimed = {}
        left = dict(wanted)
        for attempt in range(_ATTEMPTS):
            if attempt:
                pause(min(attempt, _LONGEST_PAUSE))
            known, states = self._read(left)
            now = time.time()
            may = {
                host: int(min(number, states[host].left(limits[host], now)))
                for host, number in left.items()
            }
            new = {
                host: states[host].with_leases(number, until, now)
                for host, number in may.items()
                if number > 0
            }
            failed = self._write(new, known)
            claimed.update({host: may[host] for host in new if host not in failed})
            left = {host: left[host] for host in failed}
            if not left:
                break
        return claimed

    def end(self, ended: Mapping[str, Counter[int]]) -> None:
        """Note that leases of hosts were ended, by the time they would have lasted until."""
        left = {host: counts for host, counts in ended.items() if counts}
        for attempt in range(_ATTEMPTS):
            if attempt:
                pause(min(attempt, _LONGEST_PAUSE))
            known, states = self._read(left)
            new = {host: states[host].without(counts) for host, counts in left.items()}
            left = {host: left[host] for host in self._write(new, known)}
            if not left:
                return
        raise EngineBusyError(
            f"others keep writing the states of {len(left)} hosts; try again later"
        )

    def _read(self, hosts: Collection[str]) -> tuple[dict[str, StoredEntry], dict[str, HostState]]:
        found = self._store.read([_id(host) for host in hosts])
        return found, {host: _state(found.get(_id(host))) for host in hosts}

    def _write(self, states: Mapping[str, HostState], known: Mapping[str, StoredEntry]) -> set[str]:
        """Write states; return the hosts that somebody else wrote meanwhile."""
        entries = {_id(host): state.entry(host) for host, state in states.items()}
        failed = self._store.write(entries, known)
        return {host for host in states if _id(host) in failed}


def _id(host: str) -> str:
    """Return the id of the entry of a host: a server takes 512 bytes, and a host may have more."""
    return f"host {hashlib.blake2b(host.encode(), digest_size=16).hexdigest()}"


def _state(stored: StoredEntry | None) -> HostState:
    if stored is None:
        return HostState(0.0, {})
    leases = {int(until): number for until, number in stored.source["leases"].items()}
    return HostState(stored.source["leased_at"], leases)
