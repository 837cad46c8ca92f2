"""The nwx command: global options, the way to each command, and how errors end."""

import os
import signal
import sys
from importlib import import_module

import click
from rich.cells import cell_len

from nwx.cli.output import clean
from nwx.errors import NwxError, QueryError, UsageError
from nwx.settings import load_settings

COMMANDS = {
    "import": "Import archive files: WARC, ARC and WACZ, compressed or not.",
    "watch": "Load archive files from folders as a crawler closes them, until Ctrl-C.",
    "search": "Search the documents.",
    "show": "Show a document with all its dates and places.",
    "serve": "Serve the search page, the API and playback, until Ctrl-C.",
    "files": "List the files that were imported.",
    "stats": "Show the size of each index.",
    "facets": "Tell how much there is: captures, documents, URLs and bytes, by any criteria.",
    "build-facets": "Build what facet questions are answered from at once.",
    "export": "Write the captures to Parquet files, for other programs.",
    "check": "Check that the indices agree with each other and with the ledger.",
    "dump": "Write an index as JSON lines, in the order of the entries' ids.",
    "kibana": "Print the data views, charts and dashboard for Kibana.",
    "cdx": "Write CDX of archive files.",
    "dedup-cdx": "List the duplicates in CDX files.",
    "savings": "Tell what deduplication would have saved, from CDX files alone.",
    "revisits": "List the revisit records in CDX files.",
    "add-dates": "Add the dates of lists to an archive.",
    "dates": "Show, attach and detach indices of dates.",
    "dedup-warc": "Write WARC files anew, with revisit records in the place of duplicates.",
    "cdx-server": "Answer questions for captures, as crawlers and playback ask them, until Ctrl-C.",
    "cdx-load": "Load captures from CDX and CDXJ files, without texts.",
    "wacz": "Pack a selection of the archive into the WACZ file OUT.",
    "zipnum": "Build, read and mend ZipNum clusters: capture indexes in compressed blocks.",
}
"""The commands and what each does; a command's own module is loaded when it is asked for."""


class _Commands(click.Group):
    """Commands that are loaded when needed, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        command: click.Command = import_module(f"nwx.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nwx", message="nwx %(version)s")
@click.option(
    "--engine",
    metavar="PLACE",
    help="Where the archive is: a folder, or the http(s) address of an Elasticsearch."
    "  [NWX_ENGINE; the folder `archive`]",
)
@click.option("--prefix", metavar="TEXT", help="Elasticsearch: how names of indices begin.")
@click.option("--shards", metavar="N", help="Elasticsearch: shards of new indices.")
@click.option("--replicas", metavar="N", help="Elasticsearch: replicas of new indices.")
@click.option("--api-key", metavar="KEY", help="Elasticsearch: an API key.")
@click.option("--username", metavar="NAME", help="Elasticsearch: a user.")
@click.option("--password", metavar="TEXT", help="Elasticsearch: the user's password.")
@click.option("--ca-file", metavar="FILE", help="Elasticsearch: certificates to trust.")
@click.option(
    "--insecure", flag_value="1", default=None, help="Elasticsearch: do not check certificates."
)
@click.option("--timeout", metavar="SECONDS", help="Elasticsearch: wait so long for an answer.")
@click.pass_context
def cli(ctx: click.Context, /, **given: str | None) -> None:
    """Make web archives searchable, measurable and cheap to keep.

    Every option above stands before the command, or in a variable of the
    environment: --api-key in NWX_API_KEY, and so on.
    """
    ctx.obj = load_settings(given)


def main() -> None:
    """Run nwx."""
    run(cli, "nwx")


def run(command: click.Command, name: str) -> None:
    """Run a command and end the process: 0 done, 1 failed, 2 wrong use."""
    try:
        # Not command.main(), which takes a reader that left for a failure.
        with command.make_context(name, sys.argv[1:]) as context:
            code = command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except NwxError as error:
        code = _fail(error, name)
    except (click.Abort, KeyboardInterrupt):
        code = 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read along has seen enough; the interpreter must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _fail(error: NwxError, name: str) -> int:
    click.echo(f"{name}: {clean(str(error))}", err=True)
    if isinstance(error, QueryError) and error.query and error.position is not None:
        indent = cell_len(clean(error.query[: error.position]))
        click.echo(f"  {clean(error.query)}\n  {' ' * indent}^", err=True)
    return 2 if isinstance(error, UsageError) else 1
