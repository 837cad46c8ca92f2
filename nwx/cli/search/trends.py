"""nwx trends and nwx words"""

from typing import Any

import click

from nwx.cli.options import date_options, filter_options
from nwx.cli.output import print_json
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.query.dates import Period
from nwx.settings import Settings
from nwx.values.csv_cells import csv_line


@click.command("trends")
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@filter_options
@date_options
@click.option(
    "--by",
    type=click.Choice([period.value for period in Period]),
    default=Period.YEAR.value,
    show_default=True,
    help="The unit of time.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def trends_command(
    settings: Settings,
    /,
    queries: tuple[str, ...],
    date_from: str,
    date_to: str,
    by: str,
    *,
    as_csv: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Compare up to six queries over time.

    Each QUERY is one as for `nwx search`; put one of several words into quotation
    marks. For each year or month: the captures and the documents that match, and
    their share of all that the filters find without a query.
    """
    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other")
    # Imported here: whoever asks for help need not wait for it.
    from nwx.query.question import Question
    from nwx.searching.answers import answer_to_json
    from nwx.searching.trends import TREND_COLUMNS, trends

    question = Question(filters=filters, date_from=date_from, date_to=date_to)
    with open_for_reading(settings) as engine:
        found = trends(engine, queries, question, Period(by))
    if as_json:
        print_json(answer_to_json(found))
    elif as_csv:
        for row in (TREND_COLUMNS, *found.rows()):
            click.echo(csv_line(row, ""))
    else:
        from nwx.cli.search.tables import print_trends

        print_trends(found)


@click.command("words")
@click.argument("query", nargs=-1)
@filter_options
@date_options
@click.option(
    "--limit", type=click.IntRange(1, 100), default=30, show_default=True, help="Words to list."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def words_command(
    settings: Settings,
    /,
    query: tuple[str, ...],
    date_from: str,
    date_to: str,
    limit: int,
    *,
    as_json: bool,
    **filters: Any,
) -> None:
    """List the words that tell the results of a query from the whole archive.

    The first 1,000 documents are read. A word counts by the documents that have it;
    its score is the log-likelihood ratio against all documents of the archive.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.query.question import Question
    from nwx.searching.answers import answer_to_json
    from nwx.searching.distinctive_words import distinctive_words

    question = Question(" ".join(query), filters, date_from, date_to)
    with open_for_reading(settings) as engine:
        found = distinctive_words(engine, question, limit)
    if as_json:
        print_json(answer_to_json(found))
        return
    from nwx.cli.search.tables import print_words

    print_words(found)
