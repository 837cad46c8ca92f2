"""Queries over time, as a table, and distinctive words."""

from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, counted
from nwx.cli.tables.terminal_console import console
from nwx.searching.distinctive_words import DistinctiveWords
from nwx.searching.trends import Trends


def print_trends(found: Trends) -> None:
    """Print the captures of each query by period, and their share of all."""
    shown = console()
    if not found.periods:
        shown.print(Text("nothing was captured"))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column(found.by.value.capitalize())
    for one in found.trends:
        table.add_column(Text(clean(one.query)), justify="right", overflow="fold")
    table.add_column("All captures", justify="right")
    for place, period in enumerate(found.periods):
        cells = [one.points[place] for one in found.trends]
        table.add_row(
            period if len(period) == 4 else f"{period[:4]}-{period[4:]}",
            *(f"{cell.captures:,} ({(cell.captures_share or 0):.1%})" for cell in cells),
            f"{found.all.points[place].captures:,}",
        )
    shown.print(table)


def print_words(found: DistinctiveWords) -> None:
    """Print the most distinctive words of a selection, with the documents that have them."""
    shown = console()
    table = Table(box=None, pad_edge=False)
    for title in ("Score", "Documents", "In the archive", "Word"):
        table.add_column(title, justify="left" if title == "Word" else "right")
    for one in found.words:
        numbers = f"{one.score:,.1f}", f"{one.documents:,}", f"{one.archive_documents:,}"
        table.add_row(*numbers, Text(clean(one.word)))
    if found.words:
        shown.print(table)
    read, every = counted(found.read, "document"), f"{found.archive_documents:,}"
    shown.print(Text(f"{read} read of {found.documents:,}; the archive has {every}"))
