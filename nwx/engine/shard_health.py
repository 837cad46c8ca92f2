"""How the shards of an index do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShardHealth:
    """The shards of an index on a server, each of which has `replicas` further copies.

    `name` is the index's own, behind its alias. `lost` are the numbers of
    shards of which no node has a copy, `missing_copies` counts the copies
    that there shall be and are not.
    """

    name: str
    shards: int
    replicas: int
    lost: tuple[int, ...] = ()
    missing_copies: int = 0

    @property
    def status(self) -> str:
        """Return red where a shard is lost, yellow where a copy is missing, else green."""
        return "red" if self.lost else "yellow" if self.missing_copies else "green"
