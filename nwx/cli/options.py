"""Options that several commands share."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.errors import UsageError
from nwx.keys import check_collection
from nwx.model import PARSERS
from nwx.query.fields import FILTERS
from nwx.settings import DEDUP_SCOPES, Settings
from nwx.zipnum import LINES_A_BLOCK, ClusterBuildOptions

if TYPE_CHECKING:
    from nwx.archive_cdx import IndexOptions
    from nwx.extract.extractors import Extractor
    from nwx.settings import ProtectionSettings
    from webapp.server.redis_keys import RedisSettings


date_options = option.option_set(
    option.string("--from", "DATE", "Captured on this date or later.", into="from_"),
    option.string("--to", "DATE", "Captured on this date or earlier."),
)
filter_options = option.option_set(
    *(
        option.repeated(
            "--domain --site" if name == "domain" else f"--{name}",
            "VALUE",
            f"Only this {name}; may be repeated.",
            into=name,
        )
        for name in FILTERS
    )
)
"""An option for each filter."""

verify_option = option.flag("--verify", "Verify the digests of all records.")
parser_option = option.choice_of("--parser", PARSERS, "How to read HTML.", default="fast")
item_seconds_option = option.above_zero(
    "--item-seconds",
    None,
    "Processor time for extracting the text of one document, in seconds.",
    default=20.0,
)


def _extractors(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> "tuple[Extractor, ...]":
    if not values:
        return ()
    from nwx.extract.extractors import extractor_of  # loads the extraction, rarely needed

    return tuple(map(extractor_of, values))


extractor_option = click.option(
    "--extractor",
    "extractors",
    multiple=True,
    metavar="TYPE=COMMAND",
    callback=_extractors,
    help="Run COMMAND to extract the text of payloads of TYPE (image/*) in which nwx finds none:"
    " it gets"
    " the payload on standard input and writes UTF-8 text. Repeatable.",
)


external_option = option.repeated(
    "--external",
    "DIR",
    "Read payloads named by message/external-body records, only in DIR and below.",
    type=click.Path(exists=True, file_okay=False),
)
bulk_option = option.flag(
    "--bulk",
    "On a search server: load without replicas and refreshing; both are restored at the end, even"
    " if the import is killed.",
)
LISTEN_HOST = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
HOST_NAMES = option.repeated(
    "--host-name",
    "NAME",
    "Also answer requests for this host name; on 127.0.0.1, others get 421.",
    into="host_names",
)
LISTEN_PORT = option.value(
    "--port", click.IntRange(0, 65535), None, "Port to listen on; 0 picks a free one.", default=8080
)
SERVER_WORKERS = option.value(
    "--workers",
    click.IntRange(1),
    None,
    "Number of processes.  [default: the processors, up to 4]",
    default=None,
    show_default=False,
)
SERVER_THREADS = option.count(
    "--threads", None, "Number of requests that each process handles at the same time.", default=8
)
TRUSTED_PROXIES = option.repeated(
    "--trusted-proxy",
    "ADDRESS",
    "Trust X-Forwarded-For and X-Forwarded-Proto from the reverse proxy at this address.",
    into="trusted_proxies",
)
PROTECTION = option.option_set(
    option.above_zero(
        "--rate-limit",
        "N",
        "Tokens per second for each network; a search counts as 10.  [NWX_RATE_LIMIT; no limit]",
    ),
    option.string(
        "--metrics-token", "TEXT", "Token that allows reading /metrics.  [NWX_METRICS_TOKEN]"
    ),
    option.string(
        "--request-log", "FILE", "Append a line of JSON for each request; - is standard error."
    ),
)
EMBEDDER = option.string(
    "--embedder",
    "COMMAND|ADDRESS#MODEL",
    "What computes vectors: a command that reads and writes JSON lines, or an OpenAI-compatible"
    " service.  [NWX_EMBEDDER; a small English model]",
)


def with_embedder(settings: Settings, embedder: str) -> Settings:
    """Return settings with the embedder, if one was given."""
    return replace(settings, embedder=embedder) if embedder else settings


DEDUP = option.option_set(
    option.repeated(
        "--database",
        "N=COLLECTION",
        "Number of a collection's Redis database; 0 is the whole archive. Repeatable.",
        into="databases",
    ),
    option.choice_of(
        "--scope",
        DEDUP_SCOPES,
        "Captures that a collection's database offers: those of the archive, or of the collection."
        "  [NWX_DEDUP_SCOPE; --keep-scope]",
    ),
    option.file_path(
        "--dedup-file", "File for data written by crawlers.  [dedup.db in the archive]"
    ),
)
REDIS = option.option_set(
    option.value(
        "--redis-port",
        click.IntRange(1, 65535),
        None,
        "Also serve crawlers over the Redis protocol, as nwx dedup-server does.",
        default=None,
        show_default=False,
    ),
    DEDUP,
)
USERS_FILE_OPTION = option.string(
    "--users-file",
    "FILE",
    "File of the accounts.  [NWX_USERS_FILE; users.db in the folder of the archive]",
)


def protection_of(settings: "Settings", given: dict[str, Any]) -> "ProtectionSettings":
    """Return the protection settings with the options `PROTECTION`, removed from `given`."""
    kept = settings.protection
    rate, token = given.pop("rate_limit"), given.pop("metrics_token")
    return type(kept)(rate or kept.rate, token or kept.metrics_token, given.pop("request_log"))


index_options = option.option_set(
    option.choice_of(
        "--fields",
        ["9", "11", "wget"],
        "Fields of a CDX line; wget: those that wget --warc-dedup reads.",
        default="11",
    ),
    option.flag("--cdxj", "Write CDXJ."),
    click.option(
        "--sort/--no-sort",
        "in_order",
        default=True,
        show_default=True,
        help="Sort lines by bytes, as CDX look-ups need, or keep the order of the records.",
    ),
    option.flag("--post-append", "Add method and body of POST requests to the urlkey."),
)


def index_options_of(
    fields: str, *, cdxj: bool, in_order: bool, post_append: bool
) -> "IndexOptions":
    """Return the index options given by the options `index_options`."""
    from nwx.archive_cdx import IndexLineForm, IndexOptions

    if cdxj and fields == IndexLineForm.WGET:
        raise UsageError("--cdxj and --fields wget are mutually exclusive: wget reads no CDXJ")
    known = IndexLineForm(fields if fields == IndexLineForm.WGET else f"cdx{fields}")
    form = IndexLineForm.CDXJ if cdxj else known
    return IndexOptions(form, in_order, post_append)


lines_option = option.count("--lines", None, "Lines per block.", default=LINES_A_BLOCK)
cluster_options = option.option_set(
    option.value(
        "--shards",
        click.IntRange(1, 100_000),
        None,
        "Number of data files, of about the same size.",
        default=1,
    ),
    option.file_path(
        "--splits",
        "File of split points, one per line, such as cluster.splits of an earlier build.",
    ),
    option.flag(
        "--summary", "Also write the index as cluster.summary; give pywb only one of the two."
    ),
    lines_option,
)


def cluster_options_of(
    shards: int, splits: Path | None, lines: int, *, summary: bool
) -> ClusterBuildOptions:
    """Return the build options given by `cluster_options`; raises the errors of `read_splits`."""
    from nwx.zipnum.shards import read_splits

    points = None if splits is None else tuple(read_splits(splits))
    return ClusterBuildOptions(shards, lines, points, summary)


def crawler_databases(
    settings: "Settings", given: dict[str, Any], host: str, port: int | None, token: str
) -> "RedisSettings | None":
    """Return the settings of the options `DEDUP`, removed from `given`; None without a port."""
    names: tuple[str, ...] = given.pop("databases")
    scope, file = given.pop("scope"), given.pop("dedup_file")
    if port is None:
        if names or scope or file:
            raise UsageError("--database, --scope and --dedup-file need --redis-port")
        return None
    from webapp.server.redis_keys import RedisSettings

    databases = [one.partition("=")[::2] for one in names]
    for number, collection in databases:
        if not (number.isdecimal() and len(number) < 10 and int(number) and collection):
            raise UsageError("write --database as N=COLLECTION, with N above 0")
        check_collection(collection)
    numbered = tuple((int(number), collection) for number, collection in databases)
    path = Path(file) if file else None
    token = token or settings.cdx_token
    scope = scope or settings.dedup_scope
    return RedisSettings(settings, host, port, token, numbered, scope, path)
