"""An archive on Elasticsearch."""

from nwx.engine.elastic.server import ElasticServer
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.settings import RankingSettings, ServerSettings


class ElasticEngine(SearchServerEngine):
    """The indices of an Elasticsearch.

    `address` may carry user and password; messages never do.
    """

    def __init__(
        self, address: str, settings: ServerSettings, ranking: RankingSettings | None = None
    ) -> None:
        super().__init__(ElasticServer(address, settings), settings, ranking)
