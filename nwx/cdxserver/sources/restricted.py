"""Sources as a viewer may see them."""

from collections.abc import Iterator, Sequence

from nwx.access.hidden_spans import is_all_hidden
from nwx.access.restricted.engine import RestrictedEngine
from nwx.access.visible_rows import (
    HiddenAmong,
    blocks_naming_visible,
    rows_naming_visible,
    span_is_touched,
    visible_rows,
)
from nwx.cdx.rows import CdxRow
from nwx.cdxserver.sources.merged import BLOCK_LINES, EngineSource, RowSource
from nwx.engine.access.decisions import Decisions
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan


class RestrictedSource:
    """An index of captures without the rows that are hidden."""

    def __init__(self, source: RowSource, decisions: Decisions, hidden: HiddenAmong) -> None:
        self._source = source
        self._decisions, self._hidden = decisions, hidden
        self.name, self.is_local = source.name, source.is_local

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Stream the visible captures of a span in its order."""
        rows = self._source.rows(span)
        visible = visible_rows(rows, self._decisions) if self._is_touched(span) else rows
        return rows_naming_visible(visible, self._hidden)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterator[CdxBlock] | None:
        """Stream the same captures as lines where no rule is about the span."""
        blocks = None if self._is_touched(span) else self._source.blocks(span, form)
        return blocks and blocks_naming_visible(blocks, form, self._hidden)

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Stream the places of visible captures about 3,000 apart, from the first."""
        if not self._is_touched(span):
            yield from self._source.marks(span)
            return
        for number, row in enumerate(self.rows(span)):
            if not number % BLOCK_LINES:
                yield f"{row.urlkey} {row.timestamp}"

    def collections(self) -> Sequence[str]:
        """Return the names of the collections of which not all is hidden."""
        return [
            name for name in self._source.collections() if not is_all_hidden(self._decisions, name)
        ]

    def close(self) -> None:
        """Leave the source open: it is another's."""

    def _is_touched(self, span: CdxSpan) -> bool:
        return span_is_touched(self._decisions, span)


def restricted_sources(
    sources: Sequence[RowSource], shown: RestrictedEngine
) -> tuple[RowSource, ...]:
    """Return sources as an engine shows its archive: the archive's own, and others beside it."""
    return tuple(
        EngineSource(shown)
        if isinstance(source, EngineSource)
        else RestrictedSource(source, shown.decisions, shown.hidden_urls)
        for source in sources
    )
