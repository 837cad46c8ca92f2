"""The shards of an archive on a server."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.search_server.cluster.bulk_load import BulkLoading, loading
from nwx.engine.search_server.cluster.copies import shard_health
from nwx.engine.search_server.cluster.shard_change import Resharding
from nwx.engine.search_server.dates.indices import ServerDatesIndices
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Server
from nwx.engine.shards.shards import BULK_LOADING, ShardHealth, Shards
from nwx.errors import EngineBusyError
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings


class ServerShards(Shards):
    """What changes and watches the shards of the indices of a server."""

    def __init__(
        self,
        server: Server,
        schema: Schema,
        dates: ServerDatesIndices,
        settings: ServerSettings,
    ) -> None:
        self._server, self._schema, self._dates = server, schema, dates
        self._loading = BulkLoading(server, schema, settings)

    def health(self) -> Mapping[str, ShardHealth]:
        made = self._schema.made_names()
        names = {index.value: made[index] for index in IndexName if index in made}
        names |= self._schema.names_behind(self._further(has_dates=IndexName.DATES in made))
        return {index: shard_health(self._server, name) for index, name in names.items()}

    def _further(self, *, has_dates: bool) -> dict[str, str]:
        """Return the aliases of what an archive may have beside its indices."""
        files = {f"{index}-files": f"{self._schema.name(index)}-files" for index in IndexName}
        dates = self._dates.addresses() if has_dates else {}
        named = {f"{IndexName.DATES}@{name}": index for name, index in dates.items()}
        return files | {BULK_LOADING: self._loading.index} | named

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
