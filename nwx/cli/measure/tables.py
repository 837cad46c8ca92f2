"""Printing for the measuring commands, in its own module as their help does not need it."""

from collections.abc import Iterable, Sequence
from itertools import islice

import click
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, counted, print_csv, print_json
from nwx.cli.terminal import OneLine, console, plain_table
from nwx.facets.criteria import Criterion
from nwx.facets.question import FEATURES, AnsweredBy, FacetAnswer, Feature, Features, answer_json
from nwx.links.missing_urls import MissingUrl
from nwx.quality.repair_list import Repair, RepairCounts

_WAYS = {
    AnsweredBy.STORED: "from stored combinations",
    AnsweredBy.COLUMNS: "counted from columns",
    AnsweredBy.LIVE: "counted from the captures, because the facets are not built or out of date",
    AnsweredBy.APPROXIMATE: "ESTIMATES, because the facets are not built or out of date",
}


def print_facets(
    answer: FacetAnswer, features: Sequence[Feature], *, as_json: bool, as_csv: bool
) -> None:
    """Print an answer as JSON, as CSV, or as a table with the way it was found."""
    if as_json:
        print_json(answer_json(answer, features))
    elif as_csv:
        rows = ([*values, *map(found.value, features)] for values, found in _lines(answer))
        print_csv([*answer.question.by, *features], rows)
    else:
        _print(answer, features)


def _lines(answer: FacetAnswer) -> list[tuple[tuple[str, ...], Features]]:
    if not answer.question.by:
        return [((), answer.total)]
    return [(row.values, row.features) for row in answer.rows]


def _print(answer: FacetAnswer, features: Sequence[Feature]) -> None:
    by = answer.question.by
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    if by:
        _fill_list(table, answer, by, features)
    else:
        table.show_header = False
        table.add_column()
        table.add_column(justify="right")
        for feature in features:
            table.add_row(FEATURES[feature].title, _number(answer.total.value(feature)))
    console().print(table)
    click.echo(f"({_WAYS[answer.answered_by]}, {answer.took_ms:.0f} ms)")


def _fill_list(
    table: Table, answer: FacetAnswer, by: Sequence[Criterion], features: Sequence[Feature]
) -> None:
    for name in by:
        table.add_column(name.value, overflow="fold")
    for feature in features:
        table.add_column(feature.value.replace("_", " "), justify="right")
    for values, found in _lines(answer):
        numbers = (_number(found.value(feature)) for feature in features)
        table.add_row(*(Text(clean(value)) for value in values), *numbers)
    table.add_section()
    numbers = (_number(answer.total.value(feature)) for feature in features)
    table.add_row("all", *([""] * (len(by) - 1)), *numbers)


def _number(value: int | float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


_ROWS_SHOWN = 50


def print_missing(found: Iterable[MissingUrl], limit: int | None) -> None:
    """Print missing URLs, at most `limit`, by default the first 50."""
    rows = iter(found)
    table = plain_table(
        "pages", "kind", "status", "url", right=("pages", "status"), header_style=""
    )
    for one in islice(rows, limit or _ROWS_SHOWN):
        status = "never" if one.status is None else str(one.status)
        table.add_row(f"{one.pages:,}", one.kind, status, OneLine(one.url))
    if not table.row_count:
        click.echo("nothing is missing")
        return
    console().print(table)
    if next(rows, None):
        click.echo(f"The first {_ROWS_SHOWN}; --limit shows more, a pipe or a file gets all.")


def print_page_repairs(repairs: Iterable[Repair], counts: RepairCounts, limit: int | None) -> None:
    """Print repairs, at most `limit` (default: 50), and the number of pages they complete."""
    rows = iter(repairs)
    numbers = ("pages", "whole", "checked")
    headings = (*numbers, "kind", "status", "url", "original not in any file")
    table = plain_table(*headings, right=(*numbers, "status"), header_style="")
    whole = 0
    for one in islice(rows, limit or _ROWS_SHOWN):
        whole += one.whole
        status = "never" if one.status is None else str(one.status)
        cells = (f"{number:,}" for number in (one.pages, one.whole, one.checked))
        table.add_row(*cells, one.kind or "-", status, OneLine(one.url), OneLine(one.original))
    if not table.row_count:
        click.echo("nothing can be listed" if counts.pages else "nothing is missing")
        return
    console().print(table)
    broken = counted(counts.pages, "page")
    click.echo(f"With these captured, {whole:,} of {broken} with missing resources are complete.")
    if next(rows, None):
        click.echo(f"The first {_ROWS_SHOWN}; --limit shows more, a pipe or a file gets all.")
