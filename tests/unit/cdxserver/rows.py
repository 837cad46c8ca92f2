"""A small in-memory index of captures as a source of rows."""

from collections.abc import Iterator, Sequence

from nwx.cdx.rows import CdxRow
from nwx.engine.capture_index import CdxSpan

SHA = "sha1:HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"


def row(url: str, timestamp: str, **changes: str) -> CdxRow:
    """Return a row of a page at `http://a.example/URL`."""
    made = CdxRow(
        urlkey=f"example,a)/{url}",
        timestamp=timestamp,
        url=f"http://a.example/{url}",
        mime="text/html",
        status="200",
        digest=SHA,
        redirect="-",
        robotflags="-",
        length="100",
        offset="7",
        filename="A.warc.gz",
    )
    return made._replace(**changes)


class ListSource:
    """Rows in a list."""

    name = "a list"
    is_local = True

    def __init__(self, rows: Sequence[CdxRow]) -> None:
        self._rows = sorted(rows)

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Yield the captures of a span in its order."""
        found = [one for one in self._rows if self._within(one, span)]
        return reversed(found) if span.newest_first else iter(found)

    @staticmethod
    def _within(one: CdxRow, span: CdxSpan) -> bool:
        revisit = one.mime == "warc/revisit"
        if span.revisits is not None and revisit != span.revisits:
            return False
        return span.start <= f"{one.urlkey} {one.timestamp} " < span.end

    def blocks(self, span: CdxSpan, form: object) -> None:
        """Return None, as there are only rows."""

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Yield the position of every second capture."""
        return (f"{one.urlkey} {one.timestamp}" for one in list(self.rows(span))[::2])

    def collections(self) -> Sequence[str]:
        """Return no collections."""
        return []

    def close(self) -> None:
        """Do nothing."""
