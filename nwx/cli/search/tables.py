"""Printing for the search commands, in its own module as their help does not need it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from nwx.answers.sql_table import column_kind
from nwx.cli.output import clean, clean_lines, counted, date_words, print_json, size_words, warn
from nwx.cli.terminal import OneLine, console, print_table
from nwx.mappings import FieldValue
from nwx.model import Capture, Document, Hit, SearchResult
from nwx.query.fields import FACET_FIELDS, FILTERS

if TYPE_CHECKING:
    from nwx.answers.sql_table import SqlTable
    from nwx.searching.documents import ShownDocument, UrlVersion
    from nwx.searching.trends import DistinctiveWords, Trends


def print_hits(result: SearchResult, offset: int, *, explain: bool = False) -> None:
    """Print a page of hits that begins at `offset`, the facets, and the number of results.

    With `explain`, the parts of each hit's score are printed too.
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


def _table(hits: Sequence[Hit], offset: int, *, explain: bool) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 1, 0), expand=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(no_wrap=True)
    copies = Counter(hit.copy_of for hit in hits)
    for number, hit in enumerate(hits, offset + 1):
        if not hit.copy_of:
            text = _hit_text(hit, copies[hit.id], explain=explain)
            table.add_row(str(number), text, _when_text(hit))
    return table


def _hit_text(hit: Hit, copies: int, *, explain: bool) -> Group:
    title = Text(clean(hit.title) or "(no title)", style="bold")
    snippet = Text()
    for piece, matches in hit.snippet:
        snippet.append(clean(piece), style="bold yellow" if matches else "")
    lines: list[Text | OneLine] = [title, OneLine(hit.url, "cyan")]
    if hit.snippet:
        lines.append(snippet)
    if copies:
        lines.append(Text(f"and {copies:,} more with the same text", style="dim"))
    if hit.found_by_links or explain:
        # Imported late: the module defines all answers of the API.
        from nwx.searching.answers import found_by_words, score_words

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


def print_trends(found: "Trends") -> None:
    """Print the captures of each query by period, and their share of all captures."""
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


def print_words(found: "DistinctiveWords") -> None:
    """Print the most distinctive words of a selection, with the number of their documents."""
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


def print_versions(found: "list[UrlVersion]", *, as_json: bool) -> None:
    """Print the versions of a URL: their ids, dates and titles."""
    if as_json:
        print_json([asdict(version) for version in found])
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("id", "first", "last"):
        table.add_column(heading, no_wrap=True)
    table.add_column("captures", justify="right")
    table.add_column("title", overflow="fold")
    for version in found:
        table.add_row(
            version.id,
            date_words(version.first),
            date_words(version.last),
            f"{version.captures:,}",
            Text(clean(version.title or version.url)),
        )
    console().print(table)


def print_document(shown: "ShownDocument", *, text: bool) -> None:
    """Print a document with its dates and the places of its records, and its text if `text`."""
    out = console()
    capture, extract = shown.document.capture, shown.document.extract
    out.print(Text(clean(extract.title) or "(no title)", style="bold"))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _facts(shown.document, shown.id):
        if value:
            table.add_row(label, Text(clean(value)))
    out.print(table)
    out.print(_dates_table(shown))
    if shown.captures:
        out.print(_places_table(shown.captures))
    if text and extract.content:
        out.print(Text(f"\n{clean_lines(extract.content)}"))
    for problem in extract.problems:
        warn(f"{clean(capture.url)}: {clean(problem)}")


def _facts(document: Document, id: str) -> tuple[tuple[str, str], ...]:
    capture, extract = document.capture, document.extract
    return (
        ("url", capture.url),
        ("digest", capture.digest),
        ("id", id),
        ("status", "" if capture.status_code is None else str(capture.status_code)),
        ("type", capture.content_type or capture.content_type_norm),
        ("size", size_words(capture.content_length)),
        ("language", extract.content_language),
        ("redirects to", capture.redirect_to),
        ("author", extract.author),
        ("description", extract.description),
        *_fields(extract.fields),
        ("links", f"{len(extract.links):,}" if extract.links else ""),
    )


def _fields(found: Mapping[str, FieldValue]) -> Iterator[tuple[str, str]]:
    """Yield the enricher fields for display; of elements, only the names."""
    for name, value in found.items():
        if name not in ("elements_counts", "publication_year", "last_modified_year"):
            yield (
                name.replace("_", " "),
                value if isinstance(value, str) else ", ".join(map(str, value)),
            )


def _dates_table(shown: "ShownDocument") -> Table:
    table = Table("date", "collection", box=None, padding=(1, 2, 0, 0), title=None)
    table.padding = (0, 2, 0, 0)
    for timestamp, collection in shown.dates.seen:
        table.add_row(_moment(timestamp), Text(clean(collection)))
    return table


def _places_table(captures: tuple[Capture, ...]) -> Table:
    table = Table("capture", "record", "file", "offset", box=None, padding=(0, 2, 0, 0))
    for capture in captures:
        place = Text(clean(capture.source_file), overflow="fold")
        offset = str(capture.source_file_offset)
        table.add_row(_moment(capture.timestamp), capture.record_type, place, offset)
    return table


def _moment(timestamp: str) -> str:
    return f"{date_words(timestamp)} {timestamp[8:10]}:{timestamp[10:12]}:{timestamp[12:14]}"


_SQL_ROWS = 1_000


def print_sql(found: "SqlTable") -> None:
    """Print the first rows of an SQL result, and whether there are more."""
    rows = list(islice(found, _SQL_ROWS + 1))
    right = {name for name in found.columns if column_kind(found.types[name]) in (int, float)}
    texts = (["" if cell is None else str(cell) for cell in found.text_cells(row)] for row in rows)
    print_table(found.columns, islice(texts, _SQL_ROWS), right)
    more = f"; the first {_SQL_ROWS:,} are shown, --csv prints all" if len(rows) > _SQL_ROWS else ""
    console().print(Text(f"{counted(min(len(rows), _SQL_ROWS), 'row')}{more}"))
