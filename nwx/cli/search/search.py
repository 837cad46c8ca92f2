"""nwx search"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.options import date_options, filter_options
from nwx.cli.output import clean, json_text, print_json
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.model import Collapse, Hit, SearchResult, Sort
from nwx.query.fields import FILTERS
from nwx.settings import Settings
from nwx.values.csv_cells import csv_line

if TYPE_CHECKING:
    from nwx.engine.base import Engine
    from nwx.query.question import Question


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
@click.option(
    "--sort",
    type=click.Choice([sort.value for sort in Sort]),
    default=Sort.RELEVANCE.value,
    show_default=True,
    help="The order of the results.",
)
@click.option(
    "--collapse/--all-versions",
    default=True,
    help="One result for each URL (default), or for each version.",
)
@click.option("--similar", is_flag=True, help="One result for each group of near-identical texts.")
@click.option(
    "--facets",
    multiple=True,
    metavar="FIELD",
    help=f"Count the values of a field: {', '.join(FILTERS)}; may be repeated.",
)
@click.option(
    "--limit", type=click.IntRange(0), default=None, metavar="N", help="Results per page."
)
@click.option(
    "--page", type=click.IntRange(1), default=1, show_default=True, help="The page to show."
)
@click.option("--explain", is_flag=True, help="Show what the score of each result is made of.")
@click.option("--scroll", is_flag=True, help="Stream all results, unordered, as JSON lines.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(
    settings: Settings,
    /,
    query: tuple[str, ...],
    limit: int | None,
    scroll: bool,
    explain: bool,
    as_csv: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Search the documents.

    A query is words, "phrases", AND OR NOT, field:value, ranges, wild*cards.
    Without a query, all documents are listed. Dates are written 2010, 2010-03
    or 2010-03-05. Pages reach the 10,000th result; --scroll streams all.
    """
    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other")
    rows = 0 if scroll else 10 if limit is None else limit
    question = _question(" ".join(query), rows, **asked)
    # Imported here: whoever asks for help need not wait for it.

    with open_for_reading(settings) as engine:
        if scroll:
            _stream(islice(engine.scroll(question), limit), as_csv=as_csv)
            return
        result = engine.search(question)
        meant = "" if as_csv or as_json else _meant(engine, question, result)
    _print(result, question.offset, explain=explain, as_csv=as_csv, as_json=as_json)
    if result.missing_shards:
        click.echo(
            f"nwx: {result.missing_shards} of {result.shards} shards did not answer: "
            "this is a part of the results",
            err=True,
        )
    if meant:
        click.echo(f"nwx: did you mean {clean(meant)}", err=True)


def _meant(engine: "Engine", question: "Question", result: SearchResult) -> str:
    """Return what a query that finds little may have meant, "" where it is right as it is."""
    from nwx.searching.suggestions import FEW_RESULTS, corrected_query

    if result.total.value > FEW_RESULTS or not question.text or question.offset:
        return ""
    return corrected_query(engine, question.text)


def _print(
    result: SearchResult, offset: int, *, explain: bool, as_csv: bool, as_json: bool
) -> None:
    if as_json:
        from nwx.searching.answers import answer_to_json, search_answer

        print_json(answer_to_json(search_answer(result)))
    elif as_csv:
        _print_csv(result.hits)
    else:
        from nwx.cli.search.tables import print_hits

        print_hits(result, offset, explain=explain)


def _question(
    query: str,
    limit: int,
    *,
    page: int,
    date_from: str,
    date_to: str,
    sort: str,
    collapse: bool,
    similar: bool,
    facets: tuple[str, ...],
    **filters: tuple[str, ...],
) -> "Question":
    from nwx.query.question import Question

    return Question(
        query=query,
        filters=filters,
        date_from=date_from,
        date_to=date_to,
        sort=Sort(sort),
        collapse=Collapse.SIMILAR if similar else Collapse.URL if collapse else Collapse.NONE,
        facets=tuple(name for names in facets for name in names.split(",")),
        offset=(page - 1) * limit,
        limit=limit,
    )


def _stream(hits: Iterable[Hit], *, as_csv: bool) -> None:
    if as_csv:
        _print_csv(hits)
        return
    from nwx.searching.answers import answer_to_json, hit_answer

    for hit in hits:
        click.echo(json_text(answer_to_json(hit_answer(hit))))


def _print_csv(hits: Iterable[Hit]) -> None:
    for row in _csv_rows(hits):
        click.echo(csv_line(row, ""))


def _csv_rows(hits: Iterable[Hit]) -> Iterator[tuple[object, ...]]:
    yield CSV_COLUMNS
    for hit in hits:
        snippet = "".join(text for text, _ in hit.snippet)
        yield (
            clean(hit.url),
            hit.digest,
            clean(hit.title),
            hit.dates[0] if hit.dates else "",
            hit.dates[-1] if hit.dates else "",
            len(hit.dates),
            hit.versions,
            "" if hit.status_code is None else hit.status_code,
            hit.content_type_norm,
            hit.content_language,
            " ".join(hit.collections),
            round(hit.score, 4),
            clean(snippet),
            hit.id,
        )
