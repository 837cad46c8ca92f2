"""What the building of a cluster can be told."""

from dataclasses import dataclass

LINES_A_BLOCK = 3000
"""As pywb and the Internet Archive have them."""


@dataclass(frozen=True, slots=True)
class ClusterBuildOptions:
    """Into how many shards, at which split points if they are given, of how large blocks.

    With `summary` the index is also there as cluster.summary.
    """

    shards: int = 1
    lines_a_block: int = LINES_A_BLOCK
    splits: tuple[bytes, ...] | None = None
    summary: bool = False
