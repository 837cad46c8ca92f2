"""nwx quality and nwx review"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    check_one_form,
    clean,
    counted,
    date_words,
    opened_archive,
    print_csv,
    print_csv_lines,
    print_json,
)
from nwx.settings import Settings
from nwx.values.render_names import FaultKind

if TYPE_CHECKING:
    from nwx.quality.scores import PlaybackScore, QualityTotals

_SHOWN = 50


@click.command("quality")
@option.string("--site", "HOST", "Pages of this host or domain.")
@option.string("--host", "HOST", "Pages of this host only.")
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
@option.count("--limit", "N", "Maximum number of pages.")
@option.flag("--json", "Print totals and the list as JSON.", into="as_json")
@option.CSV
@click.pass_obj
def quality_command(
    settings: Settings, /, limit: int | None, as_json: bool, as_csv: bool, **asked: Any
) -> None:
    """List the playback scores of captured pages, the worst first, with totals.

    These are the scores that `nwx check-playback` stored: 0 is worst, 1 is best. CSV has
    all matching pages, other formats the first 50, unless --limit is given.
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
        click.echo("no matching page was checked; `nwx check-playback` checks pages")
    else:
        _print_scores(totals, scores)


@click.command("review")
@click.argument("page", default="")
@option.string("--verdict", "VERDICT", "Save this verdict on PAGE: good, usable or bad.")
@option.string("--note", "TEXT", "With --verdict: a note.")
@option.string("--marked", "X,Y,W,H", "With --verdict: a part of the screenshot, in percent.")
@option.string("--at", "DATE", "With --verdict: the capture nearest to this date.")
@option.string("--reviewer", "NAME", "Name of the reviewer; in a list, only their reviews.")
@option.string("--collection", "NAME", "Only reviews of this collection.")
@option.CSV
@option.JSON
@click.pass_obj
def review_command(
    settings: Settings,
    /,
    page: str,
    reviewer: str,
    collection: str,
    as_csv: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """List the reviews of captured pages, or save a verdict.

    PAGE is the URL of a page, or the id of a capture as in `nwx quality --csv`. Without
    --verdict, all reviews are listed, the worst first, with counts for each collection. A
    reviewer has one verdict per capture; a new one replaces it.
    """
    check_one_form(csv=as_csv, json=as_json)
    with opened_archive(settings) as archive:
        if given["verdict"]:
            done = archive.review(page, reviewer=reviewer, **given)
            click.echo(f"{done.verdict}: {clean(done.url)} of {done.timestamp}", err=True)
            return
        rows = archive.reviews(collection=collection, reviewer=reviewer)
        found = [one for one in rows if page in ("", one.url, one.capture)]
        counts = [one for one in archive.review_counts() if collection in ("", one.collection)]
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
            crawls = f" (crawls: {', '.join(count.crawls)})" if count.crawls else ""
            click.echo(clean(f"{count.collection}{crawls}: {numbers}"), err=True)


def print_playback_scores(scores: "Iterable[PlaybackScore]") -> None:
    """Print the scores of pages, in the given order."""
    from nwx.cli.terminal import OneLine, console, plain_table  # help needs no rich

    numbers = ("score", "screenshot", "text", "resources")
    table = plain_table(*numbers, "faults", "captured", "page", right=numbers, header_style="")
    for score in scores:
        table.add_row(
            f"{score.score:.3f}",
            _share(score.screenshot),
            _share(score.text),
            _resources(score),
            _faults(score),
            date_words(score.timestamp),
            OneLine(score.url),
        )
    if table.row_count:
        console().print(table)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _resources(score: "PlaybackScore") -> str:
    """Return the number of resources that loaded, and of all."""
    good, bad = score.replay_good or 0, score.replay_bad or 0
    return f"{good:,}/{good + bad:,}"


def _faults(score: "PlaybackScore") -> str:
    kinds = Counter(fault.kind.replace("_", " ") for fault in score.faults)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


_HOSTS_SHOWN = 10


def _print_scores(totals: "QualityTotals", scores: "Sequence[PlaybackScore]") -> None:
    """Print the number of pages, totals by fault and site, and the scores of some pages."""
    from nwx.cli.terminal import OneLine, console, plain_table  # help needs no rich

    click.echo(f"{counted(totals.pages, 'page')} checked, mean score {totals.mean_score or 0:.3f}")
    for name, groups in (("fault", totals.kinds), ("site", totals.hosts[:_HOSTS_SHOWN])):
        if groups:
            numbers = ("pages", "mean score")
            table = plain_table(name, *numbers, right=numbers, header_style="")
            for group in groups:
                table.add_row(OneLine(group.value), f"{group.pages:,}", f"{group.mean_score:.3f}")
            console().print(table)
    numbers = ("score", "faults")
    table = plain_table(*numbers, "captured", "page", right=numbers, header_style="")
    for one in scores:
        cells = (f"{one.score:.3f}", f"{one.faults_total:,}", date_words(one.timestamp))
        table.add_row(*cells, OneLine(one.url))
    console().print(table)
    if len(scores) < totals.pages:
        click.echo(f"The first {len(scores):,}; --limit shows more, --csv prints all.")
