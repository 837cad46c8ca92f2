"""nwx quality"""

from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean_lines, print_json
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.fault_kinds import FaultKind

if TYPE_CHECKING:
    from nwx.engine.indices.quality_index import QualityFilter, QualityIndex


_SHOWN = 50


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    site: str
    host: str
    month: str
    kind: str
    collection: str
    limit: int | None
    as_json: bool
    as_csv: bool


@click.command("quality")
@option.string("--site", "HOST", "Pages of this host, of a domain all.")
@option.string("--host", "HOST", "Pages of this host alone.")
@option.string("--month", "YYYY-MM", "Pages captured in this month.")
@option.value(
    "--kind",
    click.Choice(["", *(one.value for one in FaultKind)]),
    "KIND",
    f"Pages with a fault of this kind: one of {', '.join(FaultKind)}.",
    default="",
    show_default=False,
)
@option.string("--collection", "NAME", "Pages of this collection.")
@option.count("--limit", "N", "So many pages at most.")
@option.flag("--json", "Print totals and the list as JSON.", into="as_json")
@option.flag("--csv", "Print the list as CSV.", into="as_csv")
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> None:
    """List how captured pages play, the worst first, with totals.

    These are the scores that `nwx check-playback` stored: 0 is worst, 1 is
    best. CSV has all pages that match, the others the first 50, unless
    --limit says how many.
    """
    asked = _Options(**given)
    if asked.as_csv and asked.as_json:
        raise UsageError("--csv and --json exclude each other")

    wanted = _filter(asked)
    with open_for_reading(settings) as engine:
        index = engine.quality_index()
        if asked.as_csv:
            _print_csv(index, wanted, asked.limit)
        else:
            _print_answer(index, wanted, asked)


def _filter(asked: _Options) -> "QualityFilter":
    from nwx.quality.scores import of_site, read_month

    month = read_month(asked.month)
    found = of_site(asked.site, asked.host)
    return replace(found, month=month, kind=asked.kind, collection=asked.collection)


def _print_csv(index: "QualityIndex", wanted: "QualityFilter", limit: int | None) -> None:
    from nwx.quality.scores import csv_of_scores

    for line in csv_of_scores(islice(index.scan(wanted), limit)):
        click.echo(clean_lines(line.rstrip("\r\n")))


def _print_answer(index: "QualityIndex", wanted: "QualityFilter", asked: _Options) -> None:
    totals = index.totals(wanted)
    scores = index.scores(wanted, asked.limit or _SHOWN)
    if asked.as_json:
        from nwx.quality.scores import quality_answer

        print_json(asdict(quality_answer(totals, scores)))
        return
    if not totals.pages:
        click.echo("no page that matches was checked; `nwx check-playback` checks pages")
        return
    from nwx.cli.quality.tables import print_scores

    print_scores(totals, scores)
