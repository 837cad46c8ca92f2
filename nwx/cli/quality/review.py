"""nwx review"""

from dataclasses import asdict
from typing import Any

import click

from nwx.cli import option
from nwx.cli.output import check_one_form, clean, print_csv, print_json
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


@click.command("review")
@click.argument("page", default="")
@option.string("--verdict", "VERDICT", "Save this verdict on PAGE: good, usable or bad.")
@option.string("--note", "TEXT", "With --verdict: what is to be seen.")
@option.string("--marked", "X,Y,W,H", "With --verdict: a part of the screenshot, in percent.")
@option.string("--at", "DATE", "With --verdict: the capture nearest to this date.")
@option.string("--reviewer", "NAME", "Who says so; of a list, only theirs.")
@option.string("--collection", "NAME", "Only reviews of this collection.")
@option.CSV
@option.JSON
@click.pass_obj
def command(
    settings: Settings,
    /,
    page: str,
    reviewer: str,
    collection: str,
    as_csv: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """List what people found of captures of pages, or save a verdict.

    PAGE is the URL of a page, or the id of a capture as `nwx quality --csv` has it.
    Without --verdict, all reviews are listed, the worst first, with counts for each
    collection. A reviewer has one verdict a capture; another takes its place.
    """
    check_one_form(csv=as_csv, json=as_json)
    with opened_archive(settings) as archive:
        if given["verdict"]:
            done = archive.review(page, reviewer=reviewer, **given)
            click.echo(f"{done.verdict}: {clean(done.url)} of {done.timestamp}", err=True)
            return
        rows = archive.reviews(collection=collection, reviewer=reviewer)
        found = [one for one in rows if page in ("", one.url, one.capture)]
        counts = archive.review_counts()
    if as_json:
        print_json({"counts": list(map(asdict, counts)), "reviews": list(map(asdict, found))})
    elif as_csv:
        print_csv(rows.columns, (tuple(rows.cells(one)) for one in found))
    else:
        for one in found:
            words = f"{one.verdict:7} {one.timestamp}  {one.url}  {one.reviewer}  {one.note}"
            click.echo(clean(words.rstrip()))
        for count in counts:
            numbers = f"good {count.good:,}, usable {count.usable:,}, bad {count.bad:,}"
            click.echo(f"{clean(count.collection)}: {numbers}", err=True)
