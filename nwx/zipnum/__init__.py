"""ZipNum clusters: capture indexes in compressed blocks, for billions of lines."""

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import MEMORY_BYTES, Resources
from nwx.data_classes import dataclass
from nwx.errors import UsageError
from nwx.values.arguments import check_arguments

if TYPE_CHECKING:
    from nwx.zipnum.builds import ClusterBuildReport


LINES_A_BLOCK = 3000
"""The usual size of pywb and the Internet Archive."""


@dataclass(frozen=True, slots=True)
class ClusterBuildOptions:
    """The number of shards, split points if given, and lines per block.

    With `summary`, the index is also written as cluster.summary.
    """

    shards: int = 1
    lines_a_block: int = LINES_A_BLOCK
    splits: tuple[bytes, ...] | None = None
    summary: bool = False

    def __post_init__(self) -> None:
        if self.shards < 1 or self.lines_a_block < 1:
            lines = self.lines_a_block
            raise UsageError(f"shards is {self.shards}, lines {lines}; both must be 1 or more")


@check_arguments
def build(
    folder: str | PathLike[str],
    files: Iterable[str | PathLike[str]],
    *,
    shards: int = 1,
    lines: int = LINES_A_BLOCK,
    splits: str | PathLike[str] | None = None,
    summary: bool = False,
    memory_bytes: int = MEMORY_BYTES,
    jobs: int | None = None,
    progress: ShowProgress = no_progress,
) -> "ClusterBuildReport":
    """Build a cluster from CDX or CDXJ files, sorted or not, in a folder without a cluster.

    Raises the errors of `nwx.zipnum.builds.build_cluster`.
    """
    # Imported late: readers of clusters do not need these.
    from nwx.cdx.inputs import CdxSource
    from nwx.zipnum.builds import build_cluster
    from nwx.zipnum.shards import read_splits

    points = None if splits is None else tuple(read_splits(Path(splits)))
    return build_cluster(
        Path(folder),
        [CdxSource(fspath(file)) for file in files],
        ClusterBuildOptions(shards, lines, points, summary),
        Resources(memory_bytes, None, jobs),
        progress,
    )
