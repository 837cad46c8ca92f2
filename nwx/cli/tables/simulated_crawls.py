"""Simulated crawls as a table on a terminal."""

import click
from rich.table import Table

from nwx.cli.output import clean, counted
from nwx.cli.tables.terminal_console import console
from nwx.steering.simulation.simulation import (
    THRESHOLDS,
    SimulatedCrawl,
    SimulationReport,
)

_QUARTERS = 4


def print_simulation(report: SimulationReport) -> None:
    """Print what crawls found, at each quarter of the budget."""
    console().print(_table(report))
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
    for seed in report.missing_seeds:
        click.echo(f"nwx: no page of {where} is at the seed {clean(seed)}", err=True)
    if report.from_index:
        click.echo(
            f"nwx: {counted(report.from_index, 'page')} analysed by the text of the index, without"
            " what is near links: the records cannot be read",
            err=True,
        )
    if report.unreadable:
        click.echo(f"nwx: {counted(report.unreadable, 'page')} cannot be read", err=True)


def _table(report: SimulationReport) -> Table:
    crawls = {
        "breadth first": report.breadth_first,
        "steered": report.steered,
        "oracle": report.oracle,
    }
    places = {-(-report.budget * part // _QUARTERS) for part in range(1, _QUARTERS)}
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("crawl")
    for heading in ("pages", "relevant", "harvest rate"):
        table.add_column(heading, justify="right")
    for place in sorted(places):
        table.add_column(f"at {place:,}", justify="right")
    for name, crawl in crawls.items():
        numbers = f"{crawl.fetched:,}", f"{crawl.relevant:,}", f"{crawl.harvest_rate:.1%}"
        table.add_row(name, *numbers, *(f"{_found(crawl, place):,}" for place in sorted(places)))
    return table


def _found(crawl: SimulatedCrawl, pages: int) -> int:
    """Return how many relevant pages were found by so many pages, or by all."""
    return crawl.curve[min(pages, crawl.fetched) - 1] if crawl.fetched else 0
