"""The options of commands that build ZipNum clusters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from nwx.zipnum.shards import LINES_A_BLOCK, ClusterBuildOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])

lines_option = click.option(
    "--lines",
    type=click.IntRange(1),
    default=LINES_A_BLOCK,
    show_default=True,
    help="Lines per block.",
)
_OPTIONS = (
    click.option(
        "--shards",
        type=click.IntRange(1, 100_000),
        default=1,
        show_default=True,
        help="Number of data files, of about the same size.",
    ),
    click.option(
        "--splits",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="File of split points, one a line, as each build writes to cluster.splits.",
    ),
    click.option(
        "--summary",
        is_flag=True,
        help="Also write the index as cluster.summary; give pywb only one of the two.",
    ),
    lines_option,
)


def cluster_options(command: _Command) -> _Command:
    """Give a command the options that say how a cluster is built."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def cluster_options_of(
    shards: int, splits: Path | None, lines: int, *, summary: bool
) -> ClusterBuildOptions:
    """Return what the options of `cluster_options` ask for; raises SourceError, FormatError."""
    # Imported here: whoever asks for help need not wait for it.
    from nwx.zipnum.shards import read_splits

    points = None if splits is None else tuple(read_splits(splits))
    return ClusterBuildOptions(shards, lines, points, summary)
