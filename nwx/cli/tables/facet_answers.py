"""Answers to facet questions: a table, CSV or JSON."""

from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, print_json
from nwx.cli.tables.terminal_console import console
from nwx.facets.criteria import Criterion
from nwx.facets.question import FEATURES, AnsweredBy, FacetAnswer, Feature, Features, answer_json
from nwx.values.csv_cells import csv_line

_WAYS = {
    AnsweredBy.STORED: "from stored combinations",
    AnsweredBy.COLUMNS: "counted from columns",
    AnsweredBy.LIVE: "counted from the captures, as the facets are not built or out of date",
    AnsweredBy.APPROXIMATE: "ESTIMATES, as the facets are not built or out of date",
}


def print_facets(
    answer: FacetAnswer, features: Sequence[Feature], *, as_json: bool, as_csv: bool
) -> None:
    """Print an answer: JSON, CSV, or else a table and how the answer was found."""
    if as_json:
        print_json(answer_json(answer, features))
    elif as_csv:
        _write_csv(answer, features)
    else:
        _print(answer, features)


def _lines(answer: FacetAnswer) -> list[tuple[tuple[str, ...], Features]]:
    if not answer.question.by:
        return [((), answer.total)]
    return [(row.values, row.features) for row in answer.rows]


def _write_csv(answer: FacetAnswer, features: Sequence[Feature]) -> None:
    click.echo(csv_line([*answer.question.by, *features], ""))
    for values, found in _lines(answer):
        numbers = (found.value(feature) for feature in features)
        cells = [*map(clean, values), *("" if n is None else n for n in numbers)]
        click.echo(csv_line(cells, ""))


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
