"""nwx facets"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, console, print_json
from nwx.engine.open import open_engine
from nwx.facets.answers import FacetAnswers
from nwx.facets.criteria import Criterion
from nwx.facets.features import FEATURES, Feature, Features, parse_features
from nwx.facets.question import AnsweredBy, FacetAnswer, answer_json, parse_facet_question
from nwx.settings import Settings
from nwx.values.csv_cells import csv_line

_WAYS = {
    AnsweredBy.STORED: "from stored combinations",
    AnsweredBy.COLUMNS: "counted from columns",
    AnsweredBy.LIVE: "counted from the captures, as the facets are not built or out of date",
    AnsweredBy.APPROXIMATE: "ESTIMATES, as the facets are not built or out of date",
}


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    where: tuple[str, ...]
    by: str
    feature: str
    sort: str
    order: str | None
    top: int | None
    approximate: bool
    as_json: bool
    as_csv: bool


@click.command("facets")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Count only captures that meet this condition: `tld=fr,be`, `month=2013-01..2013-12`,"
    " `type!=html`. May be repeated; all must be met.",
)
@click.option(
    "--by",
    default="",
    metavar="CRITERIA",
    help="List by a criterion, or by two separated by a comma.",
)
@click.option(
    "--feature",
    default="",
    metavar="FEATURES",
    help="Features to show, separated by commas.  [default: all]",
)
@click.option(
    "--sort", default="", metavar="FEATURE", help="Sort the list by a feature, or by `value`."
)
@click.option("--order", type=click.Choice(["asc", "desc"]), help="Ascending or descending order.")
@click.option(
    "--top", type=click.IntRange(1), metavar="N", help="Maximum number of rows.  [default: all]"
)
@click.option(
    "--approximate",
    is_flag=True,
    help="Elasticsearch: estimate what would have to be counted from the captures, as the facets"
    " are not built or out of date.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> None:
    """Count captures, documents, URLs and bytes by any criteria.

    Criteria are status, month, year, site, type, tld, size, depth and
    collection. Features are captures, unique_documents, unique_urls, bytes,
    unique_bytes, average_size, average_document_size and duplication_ratio. Counts are of the
    archive as it is now, and exact unless --approximate is given. After `nwx
    build-facets` they are answered at once.
    """
    asked = _Options(**given)
    features = parse_features(asked.feature)
    question = parse_facet_question(
        asked.where, asked.by, asked.sort, features, asked.order or "", asked.top
    )
    with open_engine(settings, read_only=True) as engine:
        answer = FacetAnswers(engine).answer(question, approximate=asked.approximate)
    if asked.as_json:
        print_json(answer_json(answer, features))
    elif asked.as_csv:
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
