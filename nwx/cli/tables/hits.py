"""The hits of a search with their facets."""

from collections.abc import Iterable, Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, counted, date_words
from nwx.cli.tables.terminal_console import OneLine, console
from nwx.model import Hit, SearchResult
from nwx.query.fields import FACET_FIELDS, FILTERS
from nwx.searching.highlights import found_by_words, score_words


def print_hits(result: SearchResult, offset: int, *, explain: bool = False) -> None:
    """Print a page of hits that begins at `offset`, the facets and how many there are.

    `explain` prints what the score of each hit is made of too.
    """
    shown = console()
    if result.hits:
        shown.print(_table(result.hits, offset, explain=explain))
    for name, table in _facet_tables(result):
        shown.print(Text(f"\n{name}", style="bold"))
        shown.print(table)
    shown.print(Text(_closing_words(result, offset)))


def _closing_words(result: SearchResult, offset: int) -> str:
    about = "at least " if result.total.relation == "gte" else ""
    total = f"{about}{counted(result.total.value, 'result')}"
    took = f"{result.took_ms:.0f} ms"
    if not result.total.value:
        return f"nothing found ({took})"
    if not result.hits:
        return f"{total} ({took})"
    return f"{offset + 1:,}–{offset + len(result.hits):,} of {total} ({took})"


def _table(hits: Iterable[Hit], offset: int, *, explain: bool) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 1, 0), expand=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(no_wrap=True)
    for number, hit in enumerate(hits, offset + 1):
        table.add_row(str(number), _hit_text(hit, explain=explain), _when_text(hit))
    return table


def _hit_text(hit: Hit, *, explain: bool) -> Group:
    title = Text(clean(hit.title) or "(no title)", style="bold")
    snippet = Text()
    for piece, matches in hit.snippet:
        snippet.append(clean(piece), style="bold yellow" if matches else "")
    lines: list[Text | OneLine] = [title, OneLine(hit.url, "cyan")]
    if hit.snippet:
        lines.append(snippet)
    if hit.found_by_links:
        lines.append(Text(clean(found_by_words(hit.found_by_links)), style="italic"))
    if explain:
        lines.append(Text(score_words(hit) or f"score {hit.score:.2f}", style="dim"))
    return Group(*lines)


def _when_text(hit: Hit) -> Text:
    lines = []
    if hit.dates:
        first, last = date_words(hit.dates[0]), date_words(hit.dates[-1])
        lines.append(first if first == last else f"{first} – {last}")
        lines.append(counted(len(hit.dates), "capture"))
    if hit.versions > 1:
        lines.append(counted(hit.versions, "version"))
    kind = " ".join(filter(None, (hit.content_type_norm, hit.content_language)))
    status = "" if hit.status_code in (None, 200) else f" {hit.status_code}"
    lines.append(f"{kind}{status}")
    return Text("\n".join(lines), style="dim")


def _facet_tables(result: SearchResult) -> Iterator[tuple[str, Table]]:
    names = {field: name for name, field in FILTERS.items()}
    for field in FACET_FIELDS:
        if field in result.facets:
            table = Table(box=None, show_header=False)
            for value in result.facets[field]:
                table.add_row(Text(clean(value.value)), Text(f"{value.count:,}"))
            yield names.get(field, field), table
