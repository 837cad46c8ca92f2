"""Rows of capture indexes without those that a viewer may not see."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.spans import CdxBlock, CdxLineForm, CdxSpan
from nwx.errors import DigestError
from nwx.values.digests import normal_digest

_AT_ONCE = 256
_KEPT = 65_536


def hides_row(decisions: Decisions, row: CdxRow) -> bool:
    """Tell whether a row of an index is hidden."""
    return decisions.hides_values(
        row.urlkey,
        row.url,
        _digest(row.digest),
        row.collection,
        "" if row.filename == NO_VALUE else row.filename,
        row.timestamp,
    )


def span_is_touched(decisions: Decisions, span: CdxSpan) -> bool:
    """Tell whether a rule may hide captures of a span."""
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
    """Stream the visible captures of a span in blocks, None where rows are no slower."""
    if span.newest_first or engine.cdx_blocks(span, form) is None:
        return None
    return _row_blocks(visible_rows(engine.cdx_rows(span), decisions))


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
