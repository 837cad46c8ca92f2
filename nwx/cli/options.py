"""Options that several commands have."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nwx.model import PARSERS
from nwx.query.fields import FILTERS
from nwx.settings import Settings
from nwx.zipnum import LINES_A_BLOCK, ClusterBuildOptions

if TYPE_CHECKING:
    from nwx.archive_cdx import IndexOptions
    from nwx.extract.extractors import Extractor


def date_options(function: click.decorators.FC) -> click.decorators.FC:
    """Add --from and --to."""
    for flag, name, words in (("--to", "to", "earlier"), ("--from", "from_", "later")):
        given = f"Captured on this date or {words}."
        function = click.option(flag, name, default="", metavar="DATE", help=given)(function)
    return function


def filter_options(function: click.decorators.FC) -> click.decorators.FC:
    """Add an option for each filter."""
    for name in reversed(FILTERS):
        option = click.option(
            f"--{name}", multiple=True, metavar="VALUE", help=f"Only this {name}; may be repeated."
        )
        function = option(function)
    return function


verify_option = click.option("--verify", is_flag=True, help="Verify the digests of all records.")
parser_option = click.option(
    "--parser",
    type=click.Choice(PARSERS),
    default="fast",
    show_default=True,
    help="How to read HTML.",
)
item_seconds_option = click.option(
    "--item-seconds",
    type=click.FloatRange(0, min_open=True),
    default=20.0,
    show_default=True,
    help="Processor time for extracting the text of one document, in seconds.",
)


def _extractors(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> "tuple[Extractor, ...]":
    if not values:
        return ()
    from nwx.extract.extractors import extractor_of  # loads what extracts, for few

    return tuple(map(extractor_of, values))


extractor_option = click.option(
    "--extractor",
    "extractors",
    multiple=True,
    metavar="TYPE=COMMAND",
    callback=_extractors,
    help="Ask COMMAND for the text of payloads of TYPE (image/*) in which nwx finds none: it gets"
    " the payload on standard input and writes UTF-8 text. Repeatable.",
)


def bulk_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option, given as `bulk`."""
    return click.option(
        "--bulk",
        is_flag=True,
        help="On a search server: load without replicas and refreshing; both are put back"
        " at the end, also where the import is killed.",
    )(command)


@contextmanager
def bulk_loading(settings: Settings, *, wanted: bool) -> Iterator[None]:
    """Give the indices of a search server the settings of bulk loading; a folder has none."""
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import is_server, open_engine

    if not wanted or not is_server(settings.engine):
        yield
        return
    with open_engine(settings) as engine:
        engine.create()
        with engine.shards().loading(settings):
            yield


LISTEN_HOST = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
LISTEN_PORT = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
SERVER_WORKERS = click.option(
    "--workers",
    type=click.IntRange(1),
    default=None,
    help="Processes that answer.  [default: the processors, up to 4]",
)
SERVER_THREADS = click.option(
    "--threads",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Requests that each process answers at the same time.",
)
USERS_FILE_OPTION = click.option(
    "--users-file",
    default="",
    metavar="FILE",
    help="File of the accounts.  [NWX_USERS_FILE; users.db in the folder of the archive]",
)


_Command = TypeVar("_Command", bound=Callable[..., Any])

_INDEX_OPTIONS = (
    click.option(
        "--fields",
        type=click.Choice(["9", "11", "wget"]),
        default="11",
        show_default=True,
        help="Fields of a CDX line; wget: those that wget --warc-dedup reads.",
    ),
    click.option("--cdxj", is_flag=True, help="Write CDXJ."),
    click.option(
        "--sort/--no-sort",
        "in_order",
        default=True,
        show_default=True,
        help="Sort lines by bytes, as CDX look-ups need, or keep the order of the records.",
    ),
    click.option(
        "--post-append", is_flag=True, help="Add method and body of POST requests to the urlkey."
    ),
)


def index_options(command: _Command) -> _Command:
    """Give a command the options that say what lines are written."""
    for option in reversed(_INDEX_OPTIONS):
        command = option(command)
    return command


def index_options_of(
    fields: str, *, cdxj: bool, in_order: bool, post_append: bool
) -> "IndexOptions":
    """Return what the options of `index_options` ask for."""
    # Imported here: whoever asks for help need not wait for it.
    from nwx.archive_cdx import IndexLineForm, IndexOptions

    known = IndexLineForm(fields if fields == IndexLineForm.WGET else f"cdx{fields}")
    form = IndexLineForm.CDXJ if cdxj else known
    return IndexOptions(form, in_order, post_append)


lines_option = click.option(
    "--lines",
    type=click.IntRange(1),
    default=LINES_A_BLOCK,
    show_default=True,
    help="Lines per block.",
)
_CLUSTER_OPTIONS = (
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
    for option in reversed(_CLUSTER_OPTIONS):
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
