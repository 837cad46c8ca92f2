"""Printing for the crawl commands, in its own module as their help does not need it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, counted, date_words, size_words, warn
from nwx.cli.terminal import console, number_table
from nwx.errors import UsageError
from nwx.steering.comparison.comparison import (
    CollectionComparison,
    ComparedCollection,
    HostComparison,
)
from nwx.steering.comparison.comparison_json import AGES, ages
from nwx.steering.comparison.counts import SCORE_BINS, Overlap
from nwx.steering.comparison.judgements import JudgedSample
from nwx.steering.comparison.quality import QUALITY_BINS, QualityChanges, QualityComparison
from nwx.steering.comparison.simulation import (
    THRESHOLDS,
    SimulatedCrawl,
    SimulationReport,
)
from nwx.steering.triples.triple_store import QueryAnswer, forms_of, serialized

_HOSTS_SHOWN = 10
_CHANGES_SHOWN = 5


def print_comparison(comparison: CollectionComparison) -> None:
    """Print counts, relevance, quality, overlap, freshness and the hosts with most captures."""
    sides = comparison.sides
    table = number_table("", *(clean(side.name) for side in sides))
    for title, value in _COUNTS.items():
        table.add_row(title, *map(value, sides))
    for status in sorted({status for side in sides for status in side.counts.statuses}):
        counts = (side.counts.statuses[status] for side in sides)
        table.add_row(f"  status {status}", *(f"{count:,}" for count in counts))
    _add_ages(table, sides)
    if comparison.specification is not None:
        _add_relevance(table, comparison)
    if comparison.quality is not None:
        _add_quality(table, comparison.quality)
    console().print(table)
    if comparison.b is not None:
        _print_overlap(comparison)
    if comparison.quality is not None and comparison.quality.changes is not None:
        _print_changes(comparison, comparison.quality.changes)
    _print_hosts(comparison)


_COUNTS: dict[str, Callable[[ComparedCollection], str]] = {
    "captures": lambda side: f"{side.counts.captures:,}",
    "revisits": lambda side: f"{side.counts.revisits:,}",
    "URLs": lambda side: f"{side.counts.urls:,}",
    "hosts": lambda side: f"{side.counts.hosts:,}",
    "documents": lambda side: f"{side.counts.documents:,}",
    "duplicates": lambda side: _part(side.counts.duplicates, side.counts.captures),
    "bytes": lambda side: size_words(side.counts.bytes),
    "first capture": lambda side: date_words(side.counts.first),
    "last capture": lambda side: date_words(side.counts.last),
    "errors": lambda side: _part(side.counts.errors, side.counts.captures),
}


def _add_ages(table: Table, sides: Sequence[ComparedCollection]) -> None:
    until = max(side.counts.last for side in sides)
    groups = [ages(side.counts, until) for side in sides]
    for place, days in enumerate((*AGES, None)):
        title = f"  up to {days} days old" if days else f"  more than {AGES[-1]} days old"
        table.add_row(title, *(f"{counts[place]:,} URLs" for counts in groups))


def _add_relevance(table: Table, comparison: CollectionComparison) -> None:
    assert comparison.specification is not None
    table.add_section()
    known = [side.relevance for side in comparison.sides if side.relevance is not None]
    rules = [side.rules for side in comparison.sides if side.rules is not None]
    table.add_row(
        f"relevant to {clean(comparison.specification.name)}",
        *(_part(one.relevant, one.pages) for one in known),
    )
    table.add_row("mean score", *("" if one.mean is None else f"{one.mean:.3f}" for one in known))
    for place in range(SCORE_BINS):
        if any(one.distribution[place] for one in known):
            title = f"  scores from {place / SCORE_BINS:.1f}"
            table.add_row(title, *(f"{one.distribution[place]:,}" for one in known))
    table.add_row("not analysed", *(f"{one.unscored:,}" for one in known))
    seeds = len(comparison.specification.seeds)
    table.add_row("seeds captured", *(_part(one.seeds, seeds) for one in rules))
    table.add_row("blacklisted URLs", *(f"{one.blacklisted:,}" for one in rules))
    table.add_row("URLs outside", *(f"{one.outside:,}" for one in rules))
    table.add_row("preferred URLs", *(f"{one.preferred:,}" for one in rules))


def _add_quality(table: Table, quality: QualityComparison) -> None:
    table.add_section()
    sides = quality.sides
    table.add_row("pages checked", *(f"{one.pages:,}" for one in sides))
    means = ("" if one.mean is None else f"{one.mean:.3f}" for one in sides)
    table.add_row("mean playback score", *means)
    for place in range(QUALITY_BINS):
        if any(one.distribution[place] for one in sides):
            title = f"  scores from {place / QUALITY_BINS:.1f}"
            table.add_row(title, *(f"{one.distribution[place]:,}" for one in sides))
    for kind in sorted({kind for one in sides for kind in one.faults}):
        counts = (_part(one.faults[kind], one.pages) for one in sides)
        table.add_row(f"  fault: {clean(kind).replace('_', ' ')}", *counts)
    table.add_row("missing resources", *(f"{one.missing_resources:,}" for one in sides))


def _print_changes(comparison: CollectionComparison, changes: QualityChanges) -> None:
    assert comparison.b is not None
    a, b = clean(comparison.a.name), clean(comparison.b.name)
    click.echo(
        f"Of {changes.both:,} pages checked in both, {changes.worse:,} play worse in {b} than in"
        f" {a}, {changes.better:,} better, {changes.same:,} the same."
    )
    table = number_table("page", a, b)
    for page in (*changes.worst[:_CHANGES_SHOWN], *changes.best[:_CHANGES_SHOWN]):
        scores = (f"{score:.2f}" for score in (page.score_a, page.score_b))
        table.add_row(Text(clean(page.url)), *scores)
    if table.row_count:
        console().print(table)


def _print_overlap(comparison: CollectionComparison) -> None:
    assert comparison.b is not None
    a, b = clean(comparison.a.name), clean(comparison.b.name)
    table = number_table("", "in both", f"only {a}", f"only {b}", f"{a} in {b}", f"{b} in {a}")
    for title, overlap in (
        ("URLs", comparison.urls),
        ("hosts", comparison.hosts),
        ("documents", comparison.documents),
    ):
        table.add_row(title, *_overlap_cells(overlap))
    console().print(table)
    fresh = comparison.freshness
    click.echo(
        f"Of the URLs in both, {fresh.newer_in_a:,} are newer in {a}, {fresh.newer_in_b:,} in {b};"
        f" the newest captures of {fresh.changed:,} differ."
    )


def _overlap_cells(overlap: Overlap) -> list[str]:
    shares = overlap.share_of_a, overlap.share_of_b
    counts = overlap.both, overlap.only_a, overlap.only_b
    return [
        *(f"{count:,}" for count in counts),
        *("" if share is None else f"{share:.0%}" for share in shares),
    ]


def _print_hosts(comparison: CollectionComparison) -> None:
    names = [clean(side.name) for side in comparison.sides]
    scored = comparison.specification is not None
    headings = [f"captures, {name}" for name in names] + [f"URLs, {name}" for name in names]
    headings += [f"relevant, {name}" for name in names] if scored else []
    table = number_table("host", *headings)
    for host in comparison.top_hosts[:_HOSTS_SHOWN]:
        table.add_row(Text(clean(host.host)), *_host_cells(host, scored=scored))
    console().print(table)


def _host_cells(host: HostComparison, *, scored: bool) -> list[str]:
    numbers = [*host.captures, *host.urls, *(host.relevant if scored else ())]
    return [f"{number:,}" for number in numbers]


def _part(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.0%})" if whole else f"{part:,}"


_WIDEST = 80


def answer_text(answer: QueryAnswer, form: str) -> str:
    """Return an answer in a form, `table` for people; raises UsageError if it has no such form."""
    if form == "table":
        return _for_people(answer)
    forms = forms_of(answer.kind)
    if form not in forms:
        raise UsageError(f"this query is answered as {', '.join(forms)}, not as {form}")
    text = serialized(answer, form).data.decode("utf-8", "replace")
    return text if text.endswith("\n") else f"{text}\n"


def _for_people(answer: QueryAnswer) -> str:
    if answer.kind == "triples":
        lines = answer.data.decode().removesuffix("\n").split("\n")
        return "".join(f"{clean(line)}\n" for line in lines if line)
    found: Any = json.loads(answer.data)
    if answer.kind == "boolean":
        return "yes\n" if found["boolean"] else "no\n"
    names: list[str] = found["head"]["vars"]
    rows = [[_cell(row.get(name)) for name in names] for row in found["results"]["bindings"]]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    shown = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (names, *rows)]
    return "".join(f"{line}\n" for line in shown)


def _cell(term: dict[str, str] | None) -> str:
    text = clean(term["value"]) if term else ""
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


_QUARTERS = 4


def print_simulation(report: SimulationReport) -> None:
    """Print the results of simulated crawls, at each quarter of the budget."""
    console().print(_crawl_table(report))
    where = clean(report.collection) or "the archive"
    click.echo(
        f"{report.relevant_total:,} of {counted(report.pages, 'page')} of {where} are relevant"
        f" (score {report.threshold:g} and higher); {report.relevant_reachable:,} of the"
        f" {report.reachable:,} that links lead to"
    )
    by_score = (
        f"{pages:,} from {threshold:g}"
        for threshold, pages in zip(THRESHOLDS, report.scores, strict=True)
        if pages
    )
    click.echo(f"pages by score: {', '.join(by_score) or 'none'}")
    if report.judged:
        _print_precision(report.judged)
    for seed in report.missing_seeds:
        warn(f"the seed {clean(seed)} is not in {where}")
    if report.from_index:
        warn(
            f"{counted(report.from_index, 'page')} analysed from the indexed text, without the"
            " text around links: the records cannot be read"
        )
    if report.unreadable:
        warn(f"{counted(report.unreadable, 'page')} cannot be read")


def _print_precision(judged: JudgedSample) -> None:
    precision = "none" if judged.precision is None else f"{judged.precision:.0%}"
    click.echo(
        f"{counted(judged.pages, 'page')} judged, {judged.relevant:,} relevant; scores find"
        f" {judged.found:,} of these and {judged.mistaken:,} others (precision {precision})"
    )


def _crawl_table(report: SimulationReport) -> Table:
    crawls = {
        "breadth first": report.breadth_first,
        "steered": report.steered,
        "oracle": report.oracle,
    }
    places = {-(-report.budget * part // _QUARTERS) for part in range(1, _QUARTERS)}
    marks = [f"at {place:,}" for place in sorted(places)]
    table = number_table("crawl", "pages", "relevant", "harvest rate", *marks)
    for name, crawl in crawls.items():
        numbers = f"{crawl.fetched:,}", f"{crawl.relevant:,}", f"{crawl.harvest_rate:.1%}"
        table.add_row(name, *numbers, *(f"{_found(crawl, place):,}" for place in sorted(places)))
    return table


def _found(crawl: SimulatedCrawl, pages: int) -> int:
    """Return the number of relevant pages among the first `pages` fetched."""
    return crawl.curve[min(pages, crawl.fetched) - 1] if crawl.fetched else 0
