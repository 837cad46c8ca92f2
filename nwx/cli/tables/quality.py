"""Playback scores as a table on a terminal."""

from collections.abc import Sequence

import click
from rich.table import Table

from nwx.cli.output import counted, date_words
from nwx.cli.tables.terminal_console import OneLine, console
from nwx.engine.indices.quality_index import PlaybackScore, QualityTotals

_HOSTS_SHOWN = 10


def print_scores(totals: QualityTotals, scores: Sequence[PlaybackScore]) -> None:
    """Print how many pages there are, their faults and sites, and some pages."""
    click.echo(f"{counted(totals.pages, 'page')} checked, mean score {totals.mean_score or 0:.3f}")
    for name, groups in (("fault", totals.kinds), ("site", totals.hosts[:_HOSTS_SHOWN])):
        if groups:
            table = _table(name, "pages", "mean score")
            for value, pages, mean in groups:
                table.add_row(OneLine(value), f"{pages:,}", f"{mean:.3f}")
            console().print(table)
    table = _table("score", "faults", "captured", "page", right=("score", "faults"))
    for one in scores:
        cells = (f"{one.score:.3f}", f"{one.faults_total:,}", date_words(one.timestamp))
        table.add_row(*cells, OneLine(one.url))
    console().print(table)
    if len(scores) < totals.pages:
        click.echo(f"The first {len(scores):,}; --limit shows more, --csv prints all.")


def _table(*columns: str, right: Sequence[str] = ("pages", "mean score")) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left")
    return table
