"""nwx quality"""

from dataclasses import asdict
from typing import Any

import click

from nwx.cli import option
from nwx.cli.output import check_one_form, print_csv_lines, print_json
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings
from nwx.values.render_names import FaultKind

_SHOWN = 50


@click.command("quality")
@option.string("--site", "HOST", "Pages of this host, of a domain all.")
@option.string("--host", "HOST", "Pages of this host alone.")
@option.string("--month", "YYYY-MM", "Pages captured in this month.")
@option.value(
    "--kind",
    option.HintedChoice(["", *(one.value for one in FaultKind)]),
    "KIND",
    f"Pages with a fault of this kind: one of {', '.join(FaultKind)}.",
    default="",
    show_default=False,
)
@option.string("--collection", "NAME", "Pages of this collection.")
@option.count("--limit", "N", "So many pages at most.")
@option.flag("--json", "Print totals and the list as JSON.", into="as_json")
@option.CSV
@click.pass_obj
def command(
    settings: Settings, /, limit: int | None, as_json: bool, as_csv: bool, **asked: Any
) -> None:
    """List how captured pages play, the worst first, with totals.

    These are the scores that `nwx check-playback` stored: 0 is worst, 1 is
    best. CSV has all pages that match, the others the first 50, unless
    --limit says how many.
    """
    check_one_form(csv=as_csv, json=as_json)
    with opened_archive(settings) as archive:
        found = archive.quality(**asked, limit=limit)
        if as_csv:
            from nwx.quality.scores import csv_of_scores

            print_csv_lines(csv_of_scores(found))
            return
        totals, scores = found.totals, found.page(0, limit or _SHOWN)
    if as_json:
        from nwx.quality.scores import quality_answer

        print_json(asdict(quality_answer(totals, scores)))
    elif not totals.pages:
        click.echo("no page that matches was checked; `nwx check-playback` checks pages")
    else:
        from nwx.cli.quality.tables import print_scores  # help needs no rich

        print_scores(totals, scores)
