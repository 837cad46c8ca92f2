"""nwx search"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import click
from rich.console import Group
from rich.table import Table
from rich.text import Text

from nwx.cli.output import OneLine, clean, console, counted, date_words, json_text, print_json
from nwx.engine.open import open_engine
from nwx.errors import UsageError
from nwx.model import Collapse, Hit, SearchResult, Sort
from nwx.query.question import FACET_FIELDS, FILTERS, Question
from nwx.searching.answers import answer_to_json, hit_answer, search_answer
from nwx.settings import Settings
from nwx.values.csv_cells import csv_line

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


def _filters(function: click.decorators.FC) -> click.decorators.FC:
    for name in reversed(FILTERS):
        option = click.option(
            f"--{name}", multiple=True, metavar="VALUE", help=f"Only this {name}; may be repeated."
        )
        function = option(function)
    return function


@click.command("search")
@click.argument("query", nargs=-1)
@_filters
@click.option(
    "--from", "date_from", default="", metavar="DATE", help="Captured on this date or later."
)
@click.option(
    "--to", "date_to", default="", metavar="DATE", help="Captured on this date or earlier."
)
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
    with open_engine(settings, read_only=True) as engine:
        if scroll:
            _stream(islice(engine.scroll(question), limit), as_csv=as_csv)
            return
        result = engine.search(question)
    if as_json:
        print_json(answer_to_json(search_answer(result)))
    elif as_csv:
        _print_csv(result.hits)
    else:
        _print_table(result, question.offset)


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
) -> Question:
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


def _print_table(result: SearchResult, offset: int) -> None:
    shown = console()
    if result.hits:
        shown.print(_table(result.hits, offset))
    for name, table in _facet_tables(result):
        shown.print(Text(f"\n{name}", style="bold"))
        shown.print(table)
    shown.print(Text(_closing_words(result, offset)))


def _closing_words(result: SearchResult, offset: int) -> str:
    about = "at least " if result.total.relation == "gte" else ""
    total = f"{about}{counted(result.total.value, 'result')}"
    took = f"{result.took_ms:.0f} ms"
    if not result.total.value:
        return f"nothing found ({took})"
    if not result.hits:
        return f"{total} ({took})"
    return f"{offset + 1:,}–{offset + len(result.hits):,} of {total} ({took})"


def _table(hits: Iterable[Hit], offset: int) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 1, 0), expand=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(no_wrap=True)
    for number, hit in enumerate(hits, offset + 1):
        table.add_row(str(number), _hit_text(hit), _when_text(hit))
    return table


def _hit_text(hit: Hit) -> Group:
    title = Text(clean(hit.title) or "(no title)", style="bold")
    snippet = Text()
    for piece, matches in hit.snippet:
        snippet.append(clean(piece), style="bold yellow" if matches else "")
    return Group(title, OneLine(hit.url, "cyan"), *([snippet] if hit.snippet else []))


def _when_text(hit: Hit) -> Text:
    lines = []
    if hit.dates:
        first, last = date_words(hit.dates[0]), date_words(hit.dates[-1])
        lines.append(first if first == last else f"{first} – {last}")
        lines.append(counted(len(hit.dates), "capture"))
    if hit.versions > 1:
        lines.append(counted(hit.versions, "version"))
    kind = " ".join(filter(None, (hit.content_type_norm, hit.content_language)))
    status = "" if hit.status_code in (None, 200) else f" {hit.status_code}"
    lines.append(f"{kind}{status}")
    return Text("\n".join(lines), style="dim")


def _facet_tables(result: SearchResult) -> Iterator[tuple[str, Table]]:
    names = {field: name for name, field in FILTERS.items()}
    for field in FACET_FIELDS:
        if field in result.facets:
            table = Table(box=None, show_header=False)
            for value in result.facets[field]:
                table.add_row(Text(clean(value.value)), Text(f"{value.count:,}"))
            yield names.get(field, field), table
