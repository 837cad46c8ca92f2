"""The shards of an archive on a server."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.search_server.cluster.bulk_load import BulkLoading, loading
from nwx.engine.search_server.cluster.copies import shard_health
from nwx.engine.search_server.cluster.shard_change import Resharding
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Server
from nwx.engine.shards.shards import ShardHealth, Shards
from nwx.errors import EngineBusyError
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings


class ServerShards(Shards):
    """What changes and watches the shards of the indices of a server."""

    def __init__(self, server: Server, schema: Schema, settings: ServerSettings) -> None:
        self._server, self._schema = server, schema
        self._loading = BulkLoading(server, schema, settings)

    def health(self) -> Mapping[IndexName, ShardHealth]:
        made = self._schema.made_names()
        return {
            index: shard_health(self._server, made[index]) for index in IndexName if index in made
        }

    def loaders(self) -> tuple[str, ...]:
        return self._loading.holders()

    def loading(self, settings: Settings) -> AbstractContextManager[None]:
        return loading(self._loading, settings)

    def end_loading(self, loaders: Iterable[str]) -> None:
        for name in loaders:
            self._loading.end(name)

    def reshard(self, index: IndexName, shards: int, progress: ShowProgress = no_progress) -> str:
        if loaders := self.loaders():
            raise EngineBusyError(
                f"bulk loading goes on ({', '.join(loaders)}); reshard when it has ended, or end "
                f"it with `nwx check --end-loading` where it was killed"
            )
        return Resharding(self._server, self._schema.name(index)).run(shards, progress)

    def undo_reshard(self, index: IndexName) -> None:
        Resharding(self._server, self._schema.name(index)).undo()
