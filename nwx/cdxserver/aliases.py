"""URL aliases, as in OutbackCDX: applied to answers, and read from `@alias URL TARGET` lines.

Captures of an alias are listed under the urlkey of its target, whenever they were stored.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.sources import RowSource, cdx_place, marks_of
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.engine.indices.change_log import Alias, Aliases, AliasIndex, LoggedKind
from nwx.errors import UrlError
from nwx.values.urlkeys import urlkey, with_scheme
from nwx.values.urls import clean_url

_MARK = b"@alias "


class AliasedSource:
    """A source that lists captures of aliases under the urlkeys of their targets."""

    def __init__(self, source: RowSource, index: AliasIndex) -> None:
        self._source, self._index = source, index
        self.name, self.is_local = source.name, source.is_local

    def resolved(self, urlkey: str, collection: str) -> str:
        """Return the urlkey under which captures of a urlkey are listed."""
        aliases = self._index.of_collection(collection)
        return urlkey if aliases is None else aliases.resolved(urlkey)

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Return the captures of a span in its order; for a single alias, those of its target."""
        aliases = self._touching(span)
        if aliases is None:
            return self._source.rows(span)
        span = _of_target(span, aliases)
        kept = (row for row in self._source.rows(span) if row.urlkey not in aliases)
        moved = self._moved(span, aliases)
        return heapq.merge(kept, moved, key=cdx_place, reverse=span.newest_first)

    def _moved(self, span: CdxSpan, aliases: Aliases) -> Iterator[CdxRow]:
        """Yield the captures of aliases whose targets are in a span, in the span's order."""
        targets = aliases.targets_in(span)
        first, since, last, until = span.bounds()
        for target in reversed(targets) if span.newest_first else targets:
            start, end = since * (target == first), until * (target == last)
            streams = [
                self._source.rows(
                    replace(span, start=f"{one} {start}", end=f"{one} {end}" if end else f"{one}!")
                )
                for one in aliases.members(target)
            ]
            for row in heapq.merge(*streams, key=_timestamp, reverse=span.newest_first):
                yield row._replace(urlkey=target)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return the same captures as lines; None if the span has aliases."""
        return None if self._touching(span) else self._source.blocks(span, form)

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the places of captures about 3,000 apart, from the first."""
        if not self._touching(span):
            yield from self._source.marks(span)
            return
        yield from marks_of(self.rows(span))

    def collections(self) -> Sequence[str]:
        """Return the names of the collections with captures in the source."""
        return self._source.collections()

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def _touching(self, span: CdxSpan) -> Aliases | None:
        aliases = self._index.of_collection(span.collection)
        return aliases if aliases is not None and aliases.touches(span) else None


def _of_target(span: CdxSpan, aliases: Aliases) -> CdxSpan:
    first, blank, since = span.start.partition(" ")
    last, _, until = span.end.partition(" ")
    if not blank or first not in aliases or last not in (first, f"{first}!"):
        return span
    target = aliases.resolved(first)
    end = f"{target} {until}" if until else f"{target}!"
    return replace(span, start=f"{target} {since}", end=end)


def _timestamp(row: CdxRow) -> str:
    return row.timestamp


def without_alias_lines(
    blocks: Iterable[bytes], found: list[Alias], *, deleting: bool = False
) -> Iterator[bytes]:
    """Yield blocks of lines without `@alias` lines, whose aliases are added to `found`.

    They are replaced by empty lines. Invalid ones stay, and are reported as bad lines later.
    """
    for block in blocks:
        if block.startswith(_MARK) or b"\n" + _MARK in block:
            lines = block.split(b"\n")
            for place, line in enumerate(lines):
                alias = _alias(line, deleting) if line.startswith(_MARK) else None
                if alias is not None:
                    found.append(alias)
                    lines[place] = b""
            block = b"\n".join(lines)
        yield block


def _alias(line: bytes, deleting: bool) -> Alias | None:
    fields = line.rstrip(b"\r").split(b" ")[1:]
    if len(fields) not in ((1, 2) if deleting else (2,)):
        return None
    try:
        keys = [urlkey(with_scheme(clean_url(field))) for field in fields]
    except UrlError:
        return None
    return Alias(keys[0], "" if deleting else keys[1])


def store_aliases(engine: Engine, collection: str, aliases: Sequence[Alias]) -> None:
    """Store aliases of a collection, or remove those without a target; log it for followers."""
    if not aliases:
        return
    before = engine.aliases.of_collection(collection) or Aliases()
    # Followers delete the captures under their previous urlkeys.
    keys = [f"{one.alias} {before.resolved(one.alias)}" for one in aliases]
    engine.aliases.change(collection, aliases)
    engine.change_log().add_keys(collection, LoggedKind.ALIASES, keys)
