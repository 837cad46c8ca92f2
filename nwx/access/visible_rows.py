"""Rows of capture indexes, without the ones hidden from a viewer."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.errors import DigestError
from nwx.values.digests import normal_digest

HiddenAmong = Callable[[Collection[str]], set[str]]
"""Returns those of some URLs that are hidden, whether they were captured or not."""

_FIRST, _AT_ONCE = 16, 256
_REDIRECT = CdxRow._fields.index("redirect")
_KEPT = 65_536


def hides_row(decisions: Decisions, row: CdxRow) -> bool:
    """Return whether a row of a capture index is hidden."""
    return decisions.hides_values(
        row.urlkey,
        row.url,
        _digest(row.digest),
        row.collection,
        "" if row.filename == NO_VALUE else row.filename,
        row.timestamp,
    )


def span_is_touched(decisions: Decisions, span: CdxSpan) -> bool:
    """Return whether a rule may hide captures of a span."""
    first, _, last, until = span.bounds()
    if " " in span.start and last in (first, f"{first}!"):
        return decisions.touches(first)
    return decisions.touches(first, f"{last}!" if until else last)


def visible_rows(rows: Iterator[CdxRow], decisions: Decisions) -> Iterator[CdxRow]:
    """Stream the rows that are not hidden."""
    return (row for row in rows if not hides_row(decisions, row))


def visible_blocks(
    engine: Engine, decisions: Decisions, span: CdxSpan, form: CdxLineForm
) -> Iterator[CdxBlock] | None:
    """Stream the visible captures of a span in blocks, None where rows are as fast."""
    if span.newest_first or engine.cdx_blocks(span, form) is None:
        return None
    return _row_blocks(visible_rows(engine.cdx_rows(span), decisions))


def rows_naming_visible(rows: Iterator[CdxRow], hidden: HiddenAmong) -> Iterator[CdxRow]:
    """Stream rows without redirects to URLs that are hidden, the first ones soon."""
    size = _FIRST
    while some := list(islice(rows, size)):
        yield from _naming_visible(some, hidden)
        size = min(size * _FIRST, _AT_ONCE)


def blocks_naming_visible(
    blocks: Iterator[CdxBlock], form: CdxLineForm, hidden: HiddenAmong
) -> Iterator[CdxBlock]:
    """Stream blocks without redirects to URLs that are hidden."""
    places = [at for at, place in enumerate(form.places) if place == _REDIRECT]
    for block in blocks:
        if block.rows:
            yield replace(block, rows=_naming_visible(block.rows, hidden))
        elif places:
            yield replace(block, text=_text_naming_visible(block.text, places, hidden))
        else:
            yield block


def _naming_visible(rows: Sequence[CdxRow], hidden: HiddenAmong) -> Sequence[CdxRow]:
    named = {row.redirect for row in rows if row.redirect != NO_VALUE}
    out = hidden(named) if named else named
    if not out:
        return rows
    return [row._replace(redirect=NO_VALUE) if row.redirect in out else row for row in rows]


def _text_naming_visible(text: str, places: Sequence[int], hidden: HiddenAmong) -> str:
    lines = [line.split(" ") for line in text.split("\n")[:-1]]
    named = {fields[places[0]] for fields in lines} - {NO_VALUE}
    out = hidden(named) if named else named
    if not out:
        return text
    for fields in lines:
        if fields[places[0]] in out:
            for place in places:
                fields[place] = NO_VALUE
    return "".join(f"{' '.join(fields)}\n" for fields in lines)


def _row_blocks(rows: Iterator[CdxRow]) -> Iterator[CdxBlock]:
    while some := tuple(islice(rows, _AT_ONCE)):
        yield CdxBlock(rows=some)


@lru_cache(_KEPT)
def _digest(text: str) -> str:
    if text == NO_VALUE:
        return ""
    try:
        return normal_digest(text)
    except DigestError:
        return text
