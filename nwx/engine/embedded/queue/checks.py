"""Whether what is counted of a queue agrees with its URLs."""

import sqlite3
from collections.abc import Iterator

_STATES = ("waiting", "leased", "done", "blacklisted")
_COUNTED = ", ".join(f"sum(state = '{state}') AS {state}" for state in _STATES)
_DIFFERENT = " OR ".join(f"ifnull(found.{state}, 0) <> crawls.{state}" for state in _STATES)

_CRAWLS = (
    f"WITH found AS (SELECT crawl, {_COUNTED} FROM urls"
    " JOIN host_queues ON host_queues.num = queue GROUP BY crawl)"
    " SELECT name FROM crawls LEFT JOIN found ON found.crawl = crawls.num"
    f" WHERE {_DIFFERENT} ORDER BY name"
)
_HOST_QUEUES = (
    "WITH found AS (SELECT queue, sum(state IN ('leased', 'done')) AS given,"
    " max(CASE WHEN state = 'waiting' THEN priority END) AS best FROM urls GROUP BY queue)"
    " SELECT hosts.host FROM host_queues JOIN hosts ON hosts.num = host_queues.host"
    " LEFT JOIN found ON found.queue = host_queues.num"
    " WHERE ifnull(found.given, 0) <> host_queues.given OR found.best IS NOT host_queues.best"
    " ORDER BY hosts.host"
)
_HOSTS = (
    "WITH found AS (SELECT host, count(*) AS leased FROM urls"
    " JOIN host_queues ON host_queues.num = queue WHERE state = 'leased' GROUP BY host)"
    " SELECT hosts.host FROM hosts LEFT JOIN found ON found.host = hosts.num"
    " WHERE ifnull(found.leased, 0) <> in_flight ORDER BY hosts.host"
)
_CHECKS = (
    (_CRAWLS, "the counts of the crawl are not those of its URLs"),
    (_HOST_QUEUES, "the best priority or the pages of the host are not those of its URLs"),
    (_HOSTS, "the leases in flight of the host are not those of its URLs"),
)


def queue_problems(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield crawls and hosts of which something else is counted than there is, and what."""
    for query, message in _CHECKS:
        for (name,) in db.execute(query):
            yield name, message
