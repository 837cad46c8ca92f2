"""An archive on OpenSearch."""

from nwx.engine.opensearch.server import OpenSearchServer
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.settings import RankingSettings, ServerSettings


class OpenSearchEngine(SearchServerEngine):
    """The indices of an OpenSearch.

    `address` is `opensearch+` and that of the server; it may carry user and
    password, messages never do.
    """

    def __init__(
        self, address: str, settings: ServerSettings, ranking: RankingSettings | None = None
    ) -> None:
        super().__init__(OpenSearchServer(address, settings), settings, ranking)
