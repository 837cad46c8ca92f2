"""nwx search"""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from nwx.cli import option
from nwx.cli.options import EMBEDDER, date_options, filter_options, with_embedder
from nwx.cli.output import (
    check_one_form,
    clean,
    json_text,
    opened_archive,
    print_answer,
    print_csv,
    warn,
)
from nwx.model import Collapse, Hit, SearchResult, Sort
from nwx.query.fields import FILTERS
from nwx.query.rankings import SearchBy
from nwx.settings import Settings

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
@option.string(
    "--ranking", "NAME", "Weights of relevance that `nwx rankings` lists.", default="default"
)
@option.choice_of(
    "--by",
    SearchBy,
    "Find by words, by the meaning of passages, or by both (nwx build vectors).",
    default=SearchBy.WORDS,
)
@EMBEDDER
@option.flag("--all-types", "Rank files, redirects and error pages as pages are.")
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
@option.flag("--explain", "Show what the score of each result is made of.")
@option.flag("--scroll", "Stream all results, unordered, as JSON lines.")
@option.CSV
@option.JSON
@click.pass_obj
def command(
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
            f"{result.missing_shards} of {result.shards} shards did not answer: "
            "this is a part of the results"
        )
    if result.most_words:
        warn("no document has all of these words: these have most of them")
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
