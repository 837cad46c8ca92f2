"""The shards of indices: how they do, and how many there are."""

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
    """The shards of an index on a server, each of which has `replicas` further copies.

    `name` is the index's own, behind its alias. `lost` are the numbers of
    shards of which no node has a copy, `missing_copies` counts the copies
    that there shall be and are not. Nothing can be written where `blocked`.
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
        """Return how the shards of each index do that there is, by its name.

        First come those of an IndexName, then others that belong to the archive:
        `<name>-files` (what an index keeps beside its entries), BULK_LOADING,
        and `dates@<name>` (a dates index beside the main one).
        """
        return {}

    def loaders(self) -> tuple[str, ...]:
        """Return the names of the imports that load in bulk, killed ones included."""
        return ()

    def loading(self, settings: Settings) -> AbstractContextManager[None]:
        """Give the indices the settings of bulk loading within a context.

        They are put back when the last import that wanted them has ended, or
        was killed.
        """
        del settings
        return nullcontext()

    def end_loading(self, loaders: Iterable[str]) -> None:
        """Put the settings back that these imports changed, which are not at work any more."""

    def reshard(self, index: IndexName, shards: int, progress: ShowProgress = no_progress) -> str:
        """Give an index another number of shards; return how: `split` or `copied`.

        Searches go on meanwhile, writes wait or are refused. Goes on after
        one that was killed. Raises UsageError where there is nothing to do.
        """
        raise UsageError(f"{index} has no shards: only indices on a server have some")

    def undo_reshard(self, index: IndexName) -> None:
        """Let an index be written to again after a `reshard` that was killed."""
        raise UsageError(f"{index} has no shards: only indices on a server have some")
