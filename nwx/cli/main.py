"""The nwx command: global options, loading of commands, and reporting of errors."""

import gc
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

import click

from nwx.cli import option
from nwx.cli.output import UNRESTRICTED, clean
from nwx.errors import NoArchiveError, NwxError, QueryError, SpecificationError, UsageError
from nwx.plugins import plugin, plugins
from nwx.settings import load_settings

GROUPS = {
    "Archive": {
        "import": "Import WARC, ARC and WACZ files.",
        "enrich": "Extract extra fields from payloads, for searching and counting.",
        "migrate": "Import collections, archive files and access rules of another service.",
        "watch": "Import archive files from folders while a crawler writes them.",
        "files": "List the imported files, those being imported, and those that could not be read.",
        "closure": "List all files needed to play the revisits in FILES.",
        "stats": "Show the size of each index and, on a search server, the health of its shards.",
        "check": "Check that the indices agree with each other and with the import ledger.",
        "reshard": "Change the number of shards of an index on a search server.",
        "upgrade": "Upgrade an archive made by an older version of nwx.",
        "backup": "Copy the whole archive to PLACE, consistently, while others write to it.",
        "restore": "Restore an archive from BACKUP, the PLACE/NAME printed by `nwx backup`.",
        "dump": "Write an index as JSON lines, ordered by id.",
        "export": "Write captures, links, results or extracts to files for other programs.",
        "takedown": "Hide captures from readers, or purge them.",
        "wacz": "Pack a selection of captures into a WACZ file.",
        "access": "Manage access rules: which captures may be shown, to whom and from when.",
    },
    "Search": {
        "search": "Search the documents.",
        "sql": "Query the archive in SQL, run by DuckDB (nwx[sql]).",
        "rankings": "List the named rankings of results, or store one.",
        "judge": "Judge results of several rankings, without seeing which ranking found them.",
        "evaluate": "Measure how well rankings answer the judged queries.",
        "tune": "Tune the weights of a ranking on judged queries, and test them on others.",
        "trends": "Compare up to six queries over time.",
        "words": "List words that are unusually frequent in the results of a query.",
        "changes": "List the pages of a site that are gone, new or changed since a date.",
        "quote": "Find the captures that contain a quotation, and when they first and last did.",
        "cite": "Print the citation of a capture.",
        "show": "Show a document with its dates and the locations of its records.",
        "pictures": "Find pictures by the words of the pages that show them.",
        "render": "Render pages in a browser: store screenshots, text, DOM and resources.",
        "serve": "Serve the search page, the JSON API, the CDX server and playback.",
        "mcp": "Let assistants search, read and quote the archive over MCP (nwx[mcp]).",
        "users": "Manage the accounts of users who log in to the pages.",
    },
    "Measure": {
        "facets": "Count captures, documents, URLs and bytes by any criteria.",
        "build": "Build or update facets, links, pictures, triples and vectors.",
        "build-facets": "Build the columns and combinations that answer facet queries.",
        "invert-links": "Build the index of inlinks: who links to a URL, and with which words.",
        "build-pictures": "Build the index of pictures: images, and the text of pages about them.",
        "links": "Show who links to a URL or host, or what it links to.",
        "missing": "List URLs that captured pages need and the archive lacks.",
        "repair": "List the missing resources whose capture repairs most pages.",
        "kibana": "Print data views, charts and a dashboard for Kibana.",
    },
    "Quality": {
        "check-playback": "Render pages in playback, and compare them with their crawl.",
        "review": "List the reviews of captured pages, or save a verdict.",
        "quality": "List the playback scores of captured pages, the worst first, with totals.",
    },
    "Deduplicate": {
        "dedup-cdx": "List the duplicates in CDX files.",
        "revisits": "List the revisit records in CDX files.",
        "savings": "Estimate what deduplication would have saved, from CDX files.",
        "digests": "Exchange payload digests, and compare the payloads of two archives.",
        "add-dates": "Add the dates in exclusion lists to an archive.",
        "add-digests": "Add a SHA-256 to the SHA-1 of each payload, so that either finds it.",
        "dates": "List, attach and detach dates indices.",
        "dedup-warc": "Rewrite WARC files with revisit records in place of duplicates.",
    },
    "Capture index": {
        "cdx": "Write CDX files for archive files.",
        "cdx-load": "Load captures from CDX and CDXJ files, without text.",
        "zipnum": "Build, read, verify and repair ZipNum clusters.",
    },
    "Cluster": {
        "spark": "Run large jobs on Spark, locally or on a cluster.",
    },
    "Crawl": {
        "crawls": "Manage crawl specifications, and show the links they score highest.",
        "compare": "Compare two collections, or a collection with a crawl specification.",
        "triples": "Build, export and query the facts that pages state, as RDF triples.",
        "cdx-server": "Answer CDX queries of crawlers and playback tools.",
        "dedup-server": "Serve crawlers that deduplicate by the Redis protocol, like Browsertrix.",
        "steer": "Analyse pages by a crawl specification, and send links to the queue.",
        "due": "List URLs that are due to be captured again, most overdue first.",
        "queue": "Serve and change the queue of URLs that crawlers fetch.",
        "heritrix": "Feed a Heritrix job from the crawler's queue.",
        "monitor": "Monitor a running crawl: counts by minute and host, and alerts.",
    },
}
"""The commands by group, with their descriptions; a command's module is loaded on first use."""

COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}

_FOLDERS = {
    "Archive": "archive",
    "Search": "search",
    "Measure": "measure",
    "Quality": "quality",
    "Deduplicate": "deduplicate",
    "Capture index": "capture_index",
    "Cluster": "",
    "Crawl": "crawl",
}
"""The package of each group of commands."""

_MODULES = {
    "import": "import_",
    **dict.fromkeys(
        ("stats", "files", "closure", "dump", "reshard", "upgrade", "enrich"), "indices"
    ),
    **dict.fromkeys(("backup", "restore"), "check"),
    "migrate": "watch",
    **dict.fromkeys(("trends", "words", "changes", "sql"), "questions"),
    **dict.fromkeys(("judge", "evaluate", "tune"), "rankings"),
    **dict.fromkeys(("show", "quote", "cite"), "search"),
    "pictures": "render",
    **dict.fromkeys(("mcp", "users"), "serve"),
    "add-dates": "dates",
    "add-digests": "digests",
    **dict.fromkeys(("facets", "links", "kibana"), "questions"),
    **dict.fromkeys(("build-facets", "invert-links", "build-pictures"), "build"),
    "repair": "missing",
    "review": "quality",
    **dict.fromkeys(("dedup-cdx", "revisits", "dedup-warc"), "duplicate_lists"),
    "cdx-load": "cdx",
    **dict.fromkeys(("cdx-server", "dedup-server"), "servers"),
    "due": "queue",
    "heritrix": "steer",
    "compare": "crawls",
}
"""Modules of commands with another name; most contain several commands as `NAME_command`."""


_MOST_NEAR = 5
PROGRAMS = ("dedup-cdx", "revisits", "add-dates")
"""Commands that are also installed as programs."""


def command_named(name: str) -> click.Command:
    """Load and return one of COMMANDS."""
    group = next(group for group, commands in GROUPS.items() if name in commands)
    spelled = name.replace("-", "_")
    place = filter(None, ("nwx.cli", _FOLDERS[group], _MODULES.get(name, spelled)))
    module = import_module(".".join(place))
    command: click.Command = getattr(module, f"{spelled}_command", None) or module.command
    return command


class _Commands(click.Group):
    """A group that loads commands on demand, so that each starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return plugin("commands", cmd_name)  # type: ignore[return-value]
        return command_named(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        named = args[0] if args and not args[0].startswith("-") else ""
        if named and named not in COMMANDS and named not in plugins("commands"):
            from difflib import get_close_matches

            near = get_close_matches(named, COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " `nwx --help` lists the commands."
            ctx.fail(f"No such command {named!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(list(commands.items()), col_max=12)
        if added := plugins("commands"):
            with formatter.section("Plugins"):
                formatter.write_dl([(name, one.value) for name, one in added.items()], col_max=12)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nwx", message="nwx %(version)s")
@option.string(
    "--engine",
    "PLACE",
    help="The archive: a folder, the http(s) address of an Elasticsearch server, or"
    " the opensearch+http(s) address of an OpenSearch server."
    "  [default: NWX_ENGINE, else the folder `archive`]",
    default=None,
)
@option.string("--prefix", "TEXT", "Server: prefix of index names.", default=None)
@option.string("--shards", "N", "Server: shards of each new index.", default=None)
@option.string("--replicas", "N", "Server: replicas of each new index.", default=None)
@option.string(
    "--expected-captures",
    "N",
    "Server: number of captures expected in the archive.",
    default=None,
)
@click.option(
    "--partial",
    flag_value="1",
    default=None,
    help="Server: return partial results, with a warning, if shards do not answer.",
)
@option.string("--api-key", "KEY", "Elasticsearch: API key.", default=None)
@option.string("--username", "NAME", "Server: user name.", default=None)
@option.string("--password", "TEXT", "Server: password.", default=None)
@option.string("--ca-file", "FILE", "Server: file of CA certificates to trust.", default=None)
@click.option(
    "--insecure", flag_value="1", default=None, help="Server: do not verify certificates."
)
@option.string("--timeout", "SECONDS", "Server: seconds to wait for an answer.", default=None)
@option.flag(f"--{UNRESTRICTED}", "Also show captures hidden by access rules.")
@click.pass_context
def cli(ctx: click.Context, /, unrestricted: bool, **given: str | None) -> None:
    """Make web archives searchable, measurable and cheap to keep.

    The options below go before the command: nwx --engine PLACE search WORDS. All except
    --unrestricted can also be set by environment variables: NWX_API_KEY sets --api-key, and
    so on.
    """
    ctx.obj = load_settings(given)


def main() -> None:
    """Run nwx, or the command with the name of the program: dedup-cdx, revisits, add-dates."""
    name = Path(sys.argv[0]).name
    if name in PROGRAMS:
        run(command_named(name), name)
    run(cli, "nwx")


def run(command: click.Command, name: str) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 wrong use."""
    _complete(command, name)
    # NumPy's threads wait for work that hardly any command has: idle, instead of 60 ms busily.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    try:
        # Not command.main(), which treats a closed pipe as a failure.
        with command.make_context(name, sys.argv[1:]) as context:
            code = command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as error:
        error.show()
        _hint(error)
        code = error.exit_code
    except NwxError as error:
        code = _fail(error, name)
    except (click.Abort, KeyboardInterrupt):
        code = 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader closed the pipe; the interpreter must not try to flush again.
        _drop_output()
        code = 0
    except OSError as error:
        # Errors of the system: a full disk, an unreadable folder.
        what = error.filename or "the output"
        click.echo(f"{name}: {clean(str(what))}: {error.strerror or error}", err=True)
        _drop_output()
        code = 1
    # Collections at exit are useless, and took 10 % of the time of a search: some run if disabled.
    gc.disable()
    gc.freeze()
    sys.exit(code)


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complete(command: click.Command, name: str) -> None:
    """Answer a completion request of a shell (`_NWX_COMPLETE=bash_source nwx`), and exit."""
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    if instruction := os.environ.get(variable):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(command, {}, name, variable, instruction))


def _hint(error: click.ClickException) -> None:
    """Print a hint if a global option was given after the command."""
    if not isinstance(error, click.NoSuchOption):
        return
    name = error.option_name
    for one in cli.params:
        if name in one.opts:
            value = f" {one.metavar}" if one.metavar else ""
            click.echo(f"{name} goes before the command: nwx {name}{value} …", err=True)


def _fail(error: NwxError, name: str) -> int:
    # Only problems of specifications have lines; other texts may come from an archive.
    lines = str(error).split("\n") if isinstance(error, SpecificationError) else [str(error)]
    for line in lines:
        click.echo(f"{name}: {clean(line)}", err=True)
    if isinstance(error, NoArchiveError) and "path" in error.text.values:  # a folder
        _show_archives_near(Path(str(error.text.values["path"])).absolute())
    if isinstance(error, QueryError) and error.query and error.position is not None:
        from rich.cells import cell_len

        indent = cell_len(clean(error.query[: error.position]))
        click.echo(f"  {clean(error.query)}\n  {' ' * indent}^", err=True)
    return 2 if isinstance(error, UsageError) else 1


def _show_archives_near(folder: Path) -> None:
    """Print the full path of a folder without an archive, and the archives next to it."""
    near = sorted(one.parent for one in folder.parent.glob("*/nwx.json"))[:_MOST_NEAR]
    click.echo(f"  {clean(str(folder))} is not an archive", err=True)
    here = Path.cwd()
    for one in near:
        shown = one.relative_to(here) if one.is_relative_to(here) else one
        click.echo(
            f"  there is one at {clean(str(one))}: nwx --engine {clean(str(shown))} …", err=True
        )
