"""nwx search, show, cite and quote"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.options import EMBEDDER, date_options, filter_options, with_embedder
from nwx.cli.output import (
    check_one_form,
    clean,
    clean_lines,
    counted,
    date_words,
    json_text,
    opened_archive,
    print_answer,
    print_csv,
    print_json,
    span_words,
    warn,
)
from nwx.errors import UsageError
from nwx.model import Collapse, Hit, SearchResult, Sort
from nwx.query.fields import FILTERS
from nwx.query.rankings import SearchBy
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.searching.quotations import Quotation


CSV_COLUMNS = (
    "url",
    "digest",
    "title",
    "first_date",
    "last_date",
    "captures",
    "versions",
    "status",
    "type",
    "language",
    "collections",
    "score",
    "snippet",
    "id",
)


@click.command("search")
@click.argument("query", nargs=-1)
@filter_options
@date_options
@option.choice_of(
    "--sort",
    Sort,
    "The order of the results.",
    default=Sort.RELEVANCE,
)
@option.string("--ranking", "NAME", "A ranking listed by `nwx rankings`.", default="default")
@option.choice_of(
    "--by",
    SearchBy,
    "Find by words, by the meaning of passages, or by both (nwx build vectors).",
    default=SearchBy.WORDS,
)
@EMBEDDER
@option.flag("--all-types", "Rank files, redirects and error pages like pages.")
@click.option(
    "--collapse/--all-versions",
    default=True,
    help="One result for each URL (default), or for each version.",
)
@option.flag("--similar", "One result for each group of near-identical texts.")
@option.repeated(
    "--facets", "FIELD", f"Count the values of a field: {', '.join(FILTERS)}; may be repeated."
)
@option.value(
    "--limit", click.IntRange(0), "N", "Results per page.", default=None, show_default=False
)
@option.count("--page", None, "The page to show.", default=1)
@option.flag("--explain", "Show the components of each score.")
@option.flag("--scroll", "Stream all results, unordered, as JSON lines.")
@option.CSV
@option.JSON
@click.pass_obj
def search_command(
    settings: Settings,
    /,
    query: tuple[str, ...],
    limit: int | None,
    page: int,
    all_types: bool,
    collapse: bool,
    similar: bool,
    facets: tuple[str, ...],
    scroll: bool,
    explain: bool,
    as_csv: bool,
    as_json: bool,
    embedder: str,
    **asked: Any,
) -> None:
    """Search the documents.

    A query is words, "phrases", AND OR NOT, field:value, ranges, wild*cards.
    Without a query, all documents are listed. Dates are written 2010, 2010-03
    or 2010-03-05. By relevance, images, scripts, redirects and error pages come
    after pages (type:pages, type:files). Pages reach the 10,000th result; --scroll streams all.
    """
    check_one_form(csv=as_csv, json=as_json)
    if scroll and page > 1:
        raise UsageError("--scroll streams all results; leave --page out")
    if all_types:
        asked["sort"] = Sort.ALL_TYPES
    rows = 0 if scroll else 10 if limit is None else limit
    offset = (page - 1) * rows
    with opened_archive(with_embedder(settings, embedder)) as archive:
        hits = archive.search(
            " ".join(query),
            collapse=Collapse.SIMILAR if similar else Collapse.URL if collapse else Collapse.NONE,
            facets=[name for names in facets for name in names.split(",")],
            offset=offset,
            limit=rows,
            **asked,
        )
        if scroll:
            _stream(hits.scroll(limit), as_csv=as_csv)
            return
        result = hits.page()
        meant = "" if as_csv or as_json else hits.did_you_mean(result)
    _print(result, offset, explain=explain, as_csv=as_csv, as_json=as_json)
    if result.missing_shards:
        warn(
            f"{result.missing_shards} of {result.shards} shards did not answer: the results are"
            " incomplete"
        )
    if result.most_words:
        warn("no document has all of these words: documents with most of them are shown")
    if meant:
        warn(f"did you mean {clean(meant)}")


def _print(
    result: SearchResult, offset: int, *, explain: bool, as_csv: bool, as_json: bool
) -> None:
    if as_json:
        from nwx.searching.answers import search_answer

        print_answer(search_answer(result))
    elif as_csv:
        _print_csv(result.hits)
    else:
        from nwx.cli.search.tables import print_hits

        print_hits(result, offset, explain=explain)


def _stream(hits: Iterable[Hit], *, as_csv: bool) -> None:
    if as_csv:
        _print_csv(hits)
        return
    from nwx.searching.answers import answer_to_json, hit_answer

    for hit in hits:
        click.echo(json_text(answer_to_json(hit_answer(hit))))


def _print_csv(hits: Iterable[Hit]) -> None:
    print_csv(CSV_COLUMNS, _csv_rows(hits))


def _csv_rows(hits: Iterable[Hit]) -> Iterator[tuple[object, ...]]:
    for hit in hits:
        snippet = "".join(text for text, _ in hit.snippet)
        yield (
            hit.url,
            hit.digest,
            hit.title,
            hit.dates[0] if hit.dates else "",
            hit.dates[-1] if hit.dates else "",
            len(hit.dates),
            hit.versions,
            hit.status_code,
            hit.content_type_norm,
            hit.content_language,
            hit.collections,
            round(hit.score, 4),
            snippet,
            hit.id,
        )


@click.command("show")
@click.argument("key", nargs=-1, required=True)
@click.option("--text/--no-text", default=True, help="Also show the extracted text (default).")
@option.JSON
@click.pass_obj
def show_command(settings: Settings, key: tuple[str, ...], text: bool, as_json: bool) -> int:
    """Show a document with its dates and the locations of its records.

    KEY is `<url> <digest>` (quoted or not), the id of a document, or a URL:
    its only version, or the list of its versions.
    """
    from nwx.cli.search.tables import print_document, print_versions

    asked = " ".join(key)
    with opened_archive(settings) as archive:
        found = archive.document_or_versions(asked)
        address = archive.address
    if found is None:
        warn(f"there is no document {asked} in {address}")
        return 1
    if isinstance(found, list):
        print_versions(found, as_json=as_json)
    elif as_json:
        from nwx.searching.answers import answer_to_json, document_answer

        print_json(answer_to_json(document_answer(found)))
    else:
        print_document(found, text=text)
    return 0


@click.command("cite")
@click.argument("url")
@option.string("--at", "DATE", "The capture nearest to this date.  [default: the newest]")
@option.choice_of(
    "--format",
    ("pwid", "memento", "bibtex", "ris", "csl-json"),
    "Format of the citation.",
    into="form",
    default="bibtex",
)
@option.string("--name", "TEXT", "Name of the archive.  [default: the host of NWX_PUBLIC_URL]")
@click.pass_obj
def cite_command(settings: Settings, url: str, at: str, form: str, name: str) -> int:
    """Print the citation of a capture.

    NWX_PUBLIC_URL is the address at which readers find the archive; citations
    and replay addresses begin with it.
    """
    with opened_archive(settings) as archive:
        found = archive.capture(url, at)
        citation = found and found.cite(name)
    if not citation:
        warn(f"there is no capture of {url}")
        return 1
    from nwx.answers.citations import CITATION_FORMS

    click.echo(clean_lines(CITATION_FORMS[form](citation)), nl=False)
    return 0


_VERSIONS_SHOWN = 20


@click.command("quote")
@click.argument("text")
@option.string("--url", "URL", "Search all versions of this URL.")
@option.string("--site", "NAME", "Search the documents of this domain or host.")
@date_options
@option.JSON
@click.pass_obj
def quote_command(settings: Settings, /, text: str, *, as_json: bool, **asked: Any) -> int:
    """Find the captures that contain a quotation, and when they first and last did.

    The quotation must match exactly, except for white space, Unicode normalization and the
    style of quotation marks. Without --url, at most 10,000 documents found by the index are
    read. The exit code is 1 if no capture contains it.
    """
    with opened_archive(settings) as archive:
        found = archive.quote(text, **asked)
    if as_json:
        print_answer(found)
    else:
        _print_quotation(found)
    return 0 if found.verified else 1


def _print_quotation(found: "Quotation") -> None:
    compared = f"{counted(found.compared, 'document')} compared"
    if not found.complete:
        compared += "; there are more; name a URL or a site"
    if not found.verified:
        click.echo(f"no capture contains these words ({compared})")
        return
    for one in found.periods:
        before = f", not yet on {date_words(one.before)}" if one.before else ""
        after = f", no longer on {date_words(one.after)}" if one.after else ""
        span = span_words(one.first, one.last)
        click.echo(f"{span}: {counted(one.captures, 'capture')}{before}{after}")
    for version in found.versions[:_VERSIONS_SHOWN]:
        place = f"{version.part} {version.start}-{version.end}"
        click.echo(f"  {version.timestamps[0]} {clean(version.url)} {place} {version.digest}")
    if len(found.versions) > _VERSIONS_SHOWN:
        click.echo(f"  … and {counted(len(found.versions) - _VERSIONS_SHOWN, 'more version')}")
    click.echo(compared)
