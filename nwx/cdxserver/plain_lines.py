"""Answers that are lines as an engine puts them together, without rows in between."""

from collections.abc import Iterator
from functools import lru_cache

from nwx.cdx.field_names import CDX_FIELDS
from nwx.cdxserver.output import RowWriter, text_writer
from nwx.cdxserver.query.dialects import Dialect
from nwx.cdxserver.query.field_values import column_of
from nwx.cdxserver.query.model import CdxQuery, OutputForm, RowOrder
from nwx.cdxserver.selection import narrowed
from nwx.cdxserver.sources.merged import RowSource
from nwx.engine.capture_index import CdxBlock, CdxLineForm
from nwx.values.digests import DigestForm

_SPELLINGS = {None: False, DigestForm.NORMAL: False, DigestForm.BARE: True}
"""Whether digests of normal form lose the name of their algorithm."""


def plain_lines(query: CdxQuery, source: RowSource, dialect: Dialect) -> Iterator[bytes] | None:
    """Return the pieces of an answer in text; None where it has to be made of rows."""
    names = query.fields or dialect.fields
    form = _form(names, query.digest) if _is_plain(query) else None
    if form is None:
        return None
    blocks = source.blocks(narrowed(query), form)
    if blocks is None:
        return None
    return _pieces(blocks, text_writer(names, query.digest), query.limit)


@lru_cache(1_000)
def _form(names: tuple[str, ...], digest: DigestForm | None) -> CdxLineForm | None:
    """Return the form of lines of these fields, None where rows of a CDX lack one of them."""
    places = [column_of(name) for name in names]
    known = tuple(place for place in places if place is not None and place < len(CDX_FIELDS))
    return CdxLineForm(known, _SPELLINGS[digest]) if len(known) == len(places) else None


def _is_plain(query: CdxQuery) -> bool:
    """Return whether all captures of a span are asked for, or the first of them, as text."""
    dated = bool(query.date_from or query.date_to) and not query.urlkey
    chosen = query.filters or query.collapsing or query.with_originals or query.newest or dated
    placed = query.offset or query.show_resume_key or query.resume is not None
    return (
        query.output is OutputForm.TEXT
        and query.order is RowOrder.DEFAULT
        and query.digest in _SPELLINGS
        and not (chosen or placed)
    )


def _pieces(blocks: Iterator[CdxBlock], write: RowWriter, limit: int | None) -> Iterator[bytes]:
    remaining = limit
    for block in blocks:
        text = block.text or "".join(map(write, block.rows))
        number = block.number or len(block.rows)
        if remaining is not None and number >= remaining:
            lines = text.split("\n", remaining)[:remaining]
            yield "".join([f"{line}\n" for line in lines]).encode("utf-8", "surrogateescape")
            return
        if remaining is not None:
            remaining -= number
        yield text.encode("utf-8", "surrogateescape")
