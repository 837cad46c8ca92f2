"""ZipNum clusters as a source."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nwx.cdx.rows import CdxRow, row_parser
from nwx.cdxserver.sources.sorted_lines import LineReader, backwards, in_order, place_of_line
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.zipnum.cluster import open_cluster


class ClusterSource:
    """The captures of a ZipNum cluster: a folder, an `.idx` file, an address, a WACZ."""

    def __init__(self, place: str, collection: str) -> None:
        self.place = place
        self.name = Path(place).name
        self.is_local = not place.startswith(("http://", "https://"))
        self._collection = collection
        self._cluster = open_cluster(place)
        self._reader = LineReader(place, row_parser(None, collection))

    def rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Stream the captures of a span in its order."""
        if span.collection not in ("", self._collection):
            return iter(())
        lines = self._lines(span)
        return self._reader.rows(backwards(lines) if span.newest_first else lines, span.revisits)

    def blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterator[CdxBlock] | None:
        """Return None: lines are read as rows."""

    def marks(self, span: CdxSpan) -> Iterator[str]:
        """Stream the places of the first capture and of those that begin a block."""
        if span.collection not in ("", self._collection):
            return
        start, end = _bytes(span.start), _bytes(span.end)
        first = next(self._lines(span), None)
        if first is None:
            return
        yield _text(place_of_line(first))
        for block in self._cluster.blocks(start, end):
            if start <= block.key < end:
                yield _text(block.key)

    def collections(self) -> Sequence[str]:
        """Return the collection that the cluster was given to."""
        return (self._collection,)

    def close(self) -> None:
        """Close the files of the cluster."""
        self._cluster.close()

    def _lines(self, span: CdxSpan) -> Iterator[bytes]:
        return in_order(self._cluster.lines(_bytes(span.start), _bytes(span.end)), self.place)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(place: bytes) -> str:
    return place.decode("utf-8", "surrogateescape")
