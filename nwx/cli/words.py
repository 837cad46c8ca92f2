"""nwx words"""

from typing import Any

import click

from nwx.cli.output import print_json
from nwx.cli.question_options import date_options, filter_options
from nwx.cli.restricted import open_for_reading
from nwx.settings import Settings


@click.command("words")
@click.argument("query", nargs=-1)
@filter_options
@date_options
@click.option(
    "--limit", type=click.IntRange(1, 100), default=30, show_default=True, help="Words to list."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(
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
    from nwx.cli.tables.trends import print_words

    print_words(found)
