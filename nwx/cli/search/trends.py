"""nwx trends and nwx words"""

from typing import Any

import click

from nwx.cli import option
from nwx.cli.options import date_options, filter_options
from nwx.cli.output import check_one_form, print_answer, print_csv
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings
from nwx.values.timestamps import Period


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

    Each QUERY is one as for `nwx search`; put one of several words into quotation
    marks. For each year or month: the captures and the documents that match, and
    their share of all that the filters find without a query.
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
@option.value("--limit", click.IntRange(1, 100), None, "Words to list.", default=30)
@option.JSON
@click.pass_obj
def words_command(
    settings: Settings, /, query: tuple[str, ...], *, as_json: bool, **asked: Any
) -> None:
    """List the words that tell the results of a query from the whole archive.

    The first 1,000 documents are read. A word counts by the documents that have it;
    its score is the log-likelihood ratio against all documents of the archive.
    """
    with opened_archive(settings) as archive:
        found = archive.words(" ".join(query), **asked)
    if as_json:
        print_answer(found)
        return
    from nwx.cli.search.tables import print_words

    print_words(found)
