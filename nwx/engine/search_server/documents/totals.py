"""The totals of many questions, counted by few requests."""

from collections.abc import Sequence

from nwx.engine.search_server.documents.join import Join
from nwx.engine.search_server.pages import search_several
from nwx.engine.search_server.server import Body, Server
from nwx.engine.work import current_work
from nwx.query.question import DocumentQuery

_AT_ONCE = 100
_BY_ID: list[Body] = [{"id": "asc"}]


def several_totals(
    server: Server, documents: str, join: Join, queries: Sequence[DocumentQuery]
) -> list[int | None]:
    """Return how many documents each query finds, None where the join finds a part only."""
    found: list[int | None] = []
    for begin in range(0, len(queries), _AT_ONCE):
        current_work().check()
        some = [join.resolve(one, _BY_ID, 0) for one in queries[begin : begin + _AT_ONCE]]
        bodies: list[Body] = [
            {"query": one.query, "size": 0, "track_total_hits": True} for one in some if one.whole
        ]
        answers = iter(search_several(server, documents, bodies))
        found += [next(answers)["hits"]["total"]["value"] if one.whole else None for one in some]
    return found
