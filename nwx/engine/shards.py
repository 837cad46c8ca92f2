"""Shards of indices: their health and their number."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.errors import UsageError
from nwx.model import IndexName
from nwx.settings import Settings

BULK_LOADING = "loading"
"""The name of the index that notes which imports load in bulk."""


@dataclass(frozen=True, slots=True)
class ShardHealth:
    """The health of an index's shards on a server; each shard has `replicas` further copies.

    `name` is the concrete name of the index, not its alias. `lost` has the numbers of shards
    without a copy on any node, `missing_copies` counts the configured copies that do not exist.
    Nothing can be written to a `blocked` index.
    """

    name: str
    shards: int
    replicas: int
    lost: tuple[int, ...] = ()
    missing_copies: int = 0
    blocked: bool = False

    @property
    def status(self) -> str:
        """Return red where a shard is lost, yellow where a copy is missing, else green."""
        return "red" if self.lost else "yellow" if self.missing_copies else "green"


class Shards:
    """The shards of an archive. This one has none: a folder of this machine."""

    def health(self) -> Mapping[str, ShardHealth]:
        """Return the shard health of each existing index, by its name.

        Indices of an IndexName come first, then others of the archive: `<name>-files` (what an
        index stores next to its entries), BULK_LOADING, and `dates@<name>` (a dates index next to
        the main one).
        """
        return {}

    def older_forms(self) -> Mapping[IndexName, str]:
        """Return the names of the indices that an older nwx made otherwise, which work on."""
        return {}

    def loaders(self) -> tuple[str, ...]:
        """Return the names of the imports that load in bulk, killed ones included."""
        return ()

    def loading(self, settings: Settings) -> AbstractContextManager[None]:
        """Apply the settings of bulk loading to the indices within a context.

        They are restored when the last import that uses them has ended or was killed.
        """
        del settings
        return nullcontext()

    def end_loading(self, loaders: Iterable[str]) -> None:
        """Put the settings back that these imports changed, which are not at work any more."""

    def reshard(self, index: IndexName, shards: int, progress: ShowProgress = no_progress) -> str:
        """Change the number of an index's shards; return the method: `split` or `copied`.

        Searches continue meanwhile, writes wait or are refused. Resumes after a killed run. Raises
        UsageError if there is nothing to do.
        """
        raise UsageError(f"{index} has no shards: only indices on a server have some")

    def undo_reshard(self, index: IndexName) -> None:
        """Let an index be written to again after a `reshard` that was killed."""
        raise UsageError(f"{index} has no shards: only indices on a server have some")
