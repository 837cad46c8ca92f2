"""nwx facets"""

from dataclasses import dataclass
from typing import Any

import click

from nwx.cli.restricted import open_for_reading
from nwx.settings import Settings


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
    help="Server: estimate what would have to be counted from the captures, as the facets"
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
    # Imported here: whoever asks for help need not wait for it.
    from nwx.cli.tables.facet_answers import print_facets
    from nwx.facets.answers import FacetAnswers
    from nwx.facets.question import parse_facet_question, parse_features

    asked = _Options(**given)
    features = parse_features(asked.feature)
    question = parse_facet_question(
        asked.where, asked.by, asked.sort, features, asked.order or "", asked.top
    )
    with open_for_reading(settings) as engine:
        answer = FacetAnswers(engine).answer(question, approximate=asked.approximate)
    print_facets(answer, features, as_json=asked.as_json, as_csv=asked.as_csv)
