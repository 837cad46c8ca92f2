"""nwx trends, words, changes and sql"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.options import date_options, filter_options
from nwx.cli.output import (
    check_one_form,
    clean,
    counted,
    date_words,
    opened_archive,
    print_answer,
    print_array,
    print_csv,
    print_json,
)
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.timestamps import Period

if TYPE_CHECKING:  # help does not need these
    from nwx.answers.tables import Rows
    from nwx.searching.page_changes import SiteChange, WatchedSite


@click.command("trends")
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@filter_options
@date_options
@option.choice_of("--by", Period, "The unit of time.", default=Period.YEAR)
@option.CSV
@option.JSON
@click.pass_obj
def trends_command(
    settings: Settings, /, queries: tuple[str, ...], *, as_csv: bool, as_json: bool, **asked: Any
) -> None:
    """Compare up to six queries over time.

    Each QUERY is written as for `nwx search`; quote one of several words. For each year or
    month: the captures and the documents that match, and their share of all captures and
    documents that match the filters.
    """
    check_one_form(csv=as_csv, json=as_json)
    with opened_archive(settings) as archive:
        found = archive.trends(queries, **asked)
    if as_json:
        print_answer(found.answer)
    elif as_csv:
        print_csv(found.columns, map(found.cells, found))
    else:
        from nwx.cli.search.tables import print_trends

        print_trends(found.answer)


@click.command("words")
@click.argument("query", nargs=-1)
@filter_options
@date_options
@option.value("--limit", click.IntRange(1, 100), None, "Number of words.", default=30)
@option.JSON
@click.pass_obj
def words_command(
    settings: Settings, /, query: tuple[str, ...], *, as_json: bool, **asked: Any
) -> None:
    """List words that are unusually frequent in the results of a query.

    The first 1,000 documents are read. A word is counted once per document; its score is
    the log-likelihood ratio against all documents of the archive.
    """
    with opened_archive(settings) as archive:
        found = archive.words(" ".join(query), **asked)
    if as_json:
        print_answer(found)
        return
    from nwx.cli.search.tables import print_words

    print_words(found)


@click.command("changes")
@click.argument("site", default="")
@option.string("--since", "DATE", "Compare captures before this date with later ones.")
@option.string("--to", "DATE", "Only captures on this date or earlier.")
@option.flag("--latest", "Compare the last version of each page with the one before it.")
@option.string("--webhook", "URL", "Also send the changes to this address as JSON.")
@option.flag("--watch", "Report changes of SITE from now on, to --webhook if given.")
@option.flag("--unwatch", "Stop reporting changes of SITE.")
@option.flag("--watched", "List the watched sites.")
@option.count("--limit", "N", "Maximum number of pages.")
@option.CSV
@option.JSON
@click.pass_obj
def changes_command(
    settings: Settings,
    /,
    site: str,
    as_csv: bool,
    as_json: bool,
    webhook: str,
    watch: bool,
    unwatch: bool,
    watched: bool,
    **asked: Any,
) -> None:
    """List the pages of a site that are gone, new or changed since a date.

    SITE is a domain with its hosts, a URL, or a URL prefix followed by *. The last capture
    before --since is compared with the last one after it; without --since, the first with
    the last. The share is the proportion of words that differ. What a host changes with
    every capture (dates, counters, sessions, adverts) is learned from its pages and
    ignored.

    Without SITE, the changes of all watched sites since the last run are listed, and sent
    to the webhook of each.
    """
    if (watch or unwatch) and not site:
        raise UsageError("--watch and --unwatch need a SITE")
    check_one_form(csv=as_csv, json=as_json)
    failed = list[str]()
    with opened_archive(settings) as archive:
        if not site and not archive.watched_sites():
            click.echo("no watched sites; `nwx changes SITE --watch` adds one", err=True)
        if watch:
            archive.watch_site(site, webhook=webhook)
            click.echo(f"{clean(site)} is watched; `nwx changes` reports what changes", err=True)
        elif unwatch:
            known = archive.unwatch_site(site)
            click.echo(f"{clean(site)} {'is no longer' if known else 'was not'} watched", err=True)
        elif watched:
            _print_rows(archive.watched_sites(), as_csv, as_json)
        elif site:
            _print_rows(found := archive.changes(site, **asked), as_csv, as_json)
            if webhook and len(found):
                _send(webhook, site, list(found))
        else:
            _print_rows(archive.report_changes(partial(_tell, webhook, failed)), as_csv, as_json)
    if failed:
        from nwx.quality.monitor.report import NoticeError  # help needs no requests

        raise NoticeError("; ".join(failed))


def _tell(
    webhook: str, failed: list[str], one: "WatchedSite", found: "Sequence[SiteChange]"
) -> bool:
    """Send the changes of a watched site to its webhook, if any; return False if that fails."""
    from nwx.quality.monitor.report import NoticeError  # help needs no requests

    try:
        if address := one.webhook or webhook:
            _send(address, one.site, found)
    except NoticeError as error:
        failed.append(f"{one.site}: {error}; the next `nwx changes` sends its changes again")
        return False
    return True


def _send(webhook: str, site: str, found: "Sequence[SiteChange]") -> None:
    from nwx.quality.monitor.report import Webhook  # help needs no requests

    Webhook(webhook).tell({"site": site, "changes": list(map(asdict, found))})


def _print_rows(rows: "Rows[Any]", as_csv: bool, as_json: bool) -> None:
    found = list(rows)
    if as_json:
        print_json(list(map(asdict, found)))
    elif as_csv:
        print_csv(rows.columns, map(rows.cells, found))
    elif "change" not in rows.columns:
        for one in found:
            click.echo(clean(f"{one.site}  {one.webhook}".rstrip()))
    else:
        for one in found:
            span = f"{date_words(one.before) if one.before else '':10}  {date_words(one.after)}"
            click.echo(clean(f"{one.change:7}  {one.share:>4.0%}  {span}  {one.url}"))
        kinds = Counter(one.change.value for one in found)
        words = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        click.echo(f"{counted(len(found), 'page')}{f': {words}' if words else ''}", err=True)


_MIB = 1 << 20


@click.command("sql")
@click.argument("query", required=False)
@option.value("--file", option.TEXT_FILE, "FILE", "Read the query from FILE.")
@option.CSV
@option.JSON
@option.file_path("--parquet", "Write the rows to FILE as Parquet.")
@option.above_zero("--seconds", None, "Time limit.", default=300.0)
@option.count("--memory", "MIB", "Memory limit of DuckDB; the rest goes to disk.", default=2048)
@click.pass_obj
def sql_command(
    settings: Settings,
    /,
    query: str | None,
    file: IO[str] | None,
    *,
    as_csv: bool,
    as_json: bool,
    parquet: Path | None,
    seconds: float,
    memory: int,
) -> None:
    """Query the archive in SQL, run by DuckDB (nwx[sql]).

    The tables are captures, documents, links, hosts and pictures; `DESCRIBE captures`
    lists the columns. A table prints the first 1,000 rows.
    """
    from nwx.searching.sql import SqlLimits

    check_one_form(csv=as_csv, json=as_json, parquet=parquet is not None)
    if (query is None) == (file is None):
        raise UsageError("give the query as an argument, or with --file")
    text = query if query is not None else file.read() if file else ""
    with opened_archive(settings) as archive:
        found = archive.sql(text, SqlLimits(seconds, memory_bytes=memory * _MIB))
        if parquet:
            click.echo(f"{counted(found.to_parquet(parquet), 'row')} in {parquet}")
        elif as_csv:
            print_csv(found.columns, map(found.text_cells, found))
        elif as_json:
            print_array(dict(zip(found.columns, row, strict=True)) for row in found)
        else:
            from nwx.cli.search.tables import print_sql

            print_sql(found)
