"""Outlinks of metadata records that are not adjacent to their capture.

Such a record names its capture by record id, or only by URL and date. The worker that reads the
file joins them while the document is in memory; the other outlinks go to the parent, which adds
them to documents already written.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from nwx.bulk.progress import batches
from nwx.data_classes import dataclass
from nwx.engine.base import Engine
from nwx.errors import FormatError
from nwx.extract.links import Resolver, kind_of_attribute
from nwx.extract.page import ExtractLimits
from nwx.keys import capture_key, document_id, makes_document
from nwx.model import Batch, Capture, Document, Extract, Link, ReadError
from nwx.values import media_types
from nwx.values import urls as kinds
from nwx.values.http import to_text
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url
from nwx.warc.reader import CaptureRecord
from nwx.warc.record_groups import Outlink, RecordedOutlinks

LINKS_OF_A_DOCUMENT = ExtractLimits().links
"""The maximum number of links of a document, including those of metadata records."""

CUT = "links: a metadata record has more outlinks than are read"
"""The problem text of a document whose metadata record is too long."""

_EMBED, _REDIRECT = "E", "R"

# Heritrix 1 and 3.0 write E for the `href` of every `<link>`; no version writes its relation.
_LINKED = {media_types.STYLE: kinds.STYLESHEET, media_types.IMAGE: kinds.ICON}


def outlink_links(url: str, outlinks: Iterable[Outlink]) -> list[Link]:
    """Return the outlinks of a capture of `url` as links without text, each URL once."""
    resolver = Resolver(url)
    found: dict[str, str] = {}
    for outlink in outlinks:
        if absolute := resolver.absolute(outlink.url):
            found.setdefault(absolute, _kind(outlink))
    return [Link(absolute, "", kind) for absolute, kind in found.items()]


def with_links(extract: Extract, links: Iterable[Link], problem: str = "") -> Extract:
    """Return an extract with additional links, those with new URLs; the same extract if none is.

    `problem` is added if a link was added.
    """
    known = {link.url for link in extract.links}
    new = [link for link in links if link.url not in known]
    if not new:
        return extract
    room = max(0, LINKS_OF_A_DOCUMENT - len(extract.links))
    problems = [problem] if problem else []
    if len(new) > room:
        problems.append(f"links: more than {LINKS_OF_A_DOCUMENT} with those of metadata records")
    added = (told for told in problems if told not in extract.problems)
    return replace(
        extract, links=(*extract.links, *new[:room]), problems=(*extract.problems, *added)
    )


def _kind(outlink: Outlink) -> str:
    """Return the kind of a link by its element and attribute, or else by its hop."""
    element, _, attribute = outlink.context.lower().partition("/@")
    if kind := kind_of_attribute(element, attribute):
        return kind
    if (element, attribute) == ("link", "href"):
        return _LINKED.get(media_types.normal_type("", outlink.url), kinds.LINK)
    if outlink.hop == _EMBED:
        return kinds.CSS if outlink.context.startswith("=") else kinds.MEDIA
    if outlink.hop == _REDIRECT:
        return kinds.REFRESH
    return kinds.OUTLINK


_REMEMBERED_CAPTURES = 10_000
_WAITING_RECORDS = 1_000
_WAITING_OUTLINKS = 100_000
_WAITING_CAPTURES = 4_000
_FOUND_RECORDS = 4_000
_COMPARED_CAPTURES = 10_000
_DOCUMENTS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class LateOutlinks:
    """Outlinks for a document that may have been written already.

    `documents` are the possible ids of the document, empty if its capture made none or is unknown;
    `offset` is the offset of its capture, None if the capture must be found by URL and date.
    """

    recorded: RecordedOutlinks
    documents: tuple[str, ...] = ()
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class _Met:
    """A capture that was read: its offset, and the possible ids of its document."""

    offset: int
    documents: tuple[str, ...]


class OutlinkJoin:
    """Joins the metadata records of one file with its captures, in bounded memory."""

    def __init__(self) -> None:
        self._met: OrderedDict[bytes, _Met] = OrderedDict()
        self._waiting: OrderedDict[bytes, tuple[int, list[RecordedOutlinks]]] = OrderedDict()
        self._found: list[LateOutlinks] = []
        self._outlinks = self._captures = self._found_outlinks = 0

    @property
    def is_waiting(self) -> bool:
        """Whether outlinks are held whose capture may follow."""
        return bool(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether enough outlinks are ready to be taken."""
        return self._found_outlinks >= _WAITING_OUTLINKS or len(self._found) >= _FOUND_RECORDS

    def add(self, recorded: RecordedOutlinks) -> None:
        """Add the outlinks of a metadata record."""
        for name in recorded.names:
            if (met := self._met.get(name)) is not None:
                self._find(LateOutlinks(recorded, met.documents, met.offset))
                return
        if not recorded.names:
            self._find(LateOutlinks(recorded))
            return
        _, held = self._waiting.setdefault(recorded.names[0], (self._captures, []))
        held.append(recorded)
        self._outlinks += len(recorded.outlinks)
        while len(self._waiting) > _WAITING_RECORDS or self._outlinks > _WAITING_OUTLINKS:
            self._give_up()

    def meet(self, record: CaptureRecord) -> None:
        """Register the next capture of the file, and match the outlinks that wait for it."""
        self._captures += 1
        if record.record_id:
            capture = record.capture
            met = _Met(capture.source_file_offset, possible_ids(capture))
            self._met[record.record_id] = met
            if len(self._met) > _REMEMBERED_CAPTURES:
                self._met.popitem(last=False)
            for recorded in self._released(record.record_id):
                self._find(LateOutlinks(recorded, met.documents, met.offset))
        while self._waiting and self._captures - self._oldest() > _WAITING_CAPTURES:
            self._give_up()

    def close(self) -> None:
        """Leave all waiting outlinks to the parent, at the end of the file."""
        while self._waiting:
            self._give_up()

    def take(
        self, documents: Sequence[Document]
    ) -> tuple[tuple[Document, ...], tuple[LateOutlinks, ...]]:
        """Return a part's documents with outlinks added, and the outlinks of other documents."""
        found, self._found, self._found_outlinks = self._found, [], 0
        if not found:
            return tuple(documents), ()
        at_hand = {document.capture.source_file_offset: document for document in documents}
        late = []
        for one in found:
            document = at_hand.get(one.offset) if one.offset is not None else None
            if document is None:
                late.append(one)
            else:
                at_hand[document.capture.source_file_offset] = _enriched(document, one.recorded)
        return tuple(at_hand.values()), tuple(
            one for one in late if one.documents or one.offset is None
        )

    def _find(self, late: LateOutlinks) -> None:
        self._found.append(late)
        self._found_outlinks += len(late.recorded.outlinks)

    def _oldest(self) -> int:
        return next(iter(self._waiting.values()))[0]

    def _released(self, name: bytes) -> list[RecordedOutlinks]:
        _, held = self._waiting.pop(name, (0, []))
        self._outlinks -= sum(len(recorded.outlinks) for recorded in held)
        return held

    def _give_up(self) -> None:
        """Leave the oldest waiting outlinks to the parent, which looks up their capture."""
        for recorded in self._released(next(iter(self._waiting))):
            self._find(LateOutlinks(recorded))


def possible_ids(capture: Capture) -> tuple[str, ...]:
    """Return the ids that a capture's document may have: shared by its key, or for it alone."""
    if not makes_document(capture):
        return ()
    return capture.document_id, document_id(capture_key(capture))


def _enriched(document: Document, recorded: RecordedOutlinks) -> Document:
    links = outlink_links(document.capture.url, recorded.outlinks)
    problem = CUT if recorded.cut else ""
    return replace(document, extract=with_links(document.extract, links, problem))


class LateOutlinkWriter:
    """Adds outlinks of one file's metadata records to documents in an archive."""

    def __init__(self, engine: Engine, collection: str, source_file: str) -> None:
        self._engine, self._collection, self._file = engine, collection, source_file

    def write(self, late: Sequence[LateOutlinks]) -> list[ReadError]:
        """Add the outlinks to their documents; return errors for outlinks without a capture.

        Writing the same again changes nothing.
        """
        if any(one.offset is None for one in late):
            self._engine.refresh()  # so that captures of the same part are found
        errors: list[ReadError] = []
        for some in batches(late, _DOCUMENTS_AT_ONCE):
            errors += self._write(some)
        return errors

    def _write(self, late: Sequence[LateOutlinks]) -> Iterator[ReadError]:
        wanted: list[tuple[RecordedOutlinks, tuple[str, ...], frozenset[tuple[str, int]]]] = []
        for one in late:
            if one.offset is not None:
                wanted.append((one.recorded, one.documents, frozenset({(self._file, one.offset)})))
            elif captures := self._captures(one.recorded):
                places = frozenset((c.source_file, c.source_file_offset) for c in captures)
                ids = tuple(id for capture in captures for id in possible_ids(capture))
                wanted.append((one.recorded, ids, places))
            else:
                yield self._unknown(one.recorded)
        held = self._engine.documents([id for _, ids, _ in wanted for id in ids])
        amended = dict(held)
        for recorded, ids, places in wanted:
            for id in ids:
                if id in amended and self._place(amended[id].capture) in places:
                    amended[id] = _enriched(amended[id], recorded)
        if changed := _changed(held, amended):
            self._engine.write(Batch(amended=changed))

    def _captures(self, recorded: RecordedOutlinks) -> list[Capture]:
        """Return the captures with a metadata record's URL and date, only its file's if any."""
        try:
            url, timestamp = clean_url(recorded.url), normal_timestamp(to_text(recorded.date))
            found = self._engine.captures(urlkey(url))
        except FormatError:
            return []
        same = [
            capture
            for capture in islice(found, _COMPARED_CAPTURES)
            if (capture.url, capture.timestamp, capture.collection)
            == (url, timestamp, self._collection)
        ]
        return [capture for capture in same if capture.source_file == self._file] or same

    def _place(self, capture: Capture) -> tuple[str, int]:
        if capture.collection != self._collection:
            return "", 0
        return capture.source_file, capture.source_file_offset

    def _unknown(self, recorded: RecordedOutlinks) -> ReadError:
        count = len(recorded.outlinks)
        message = (
            f"the archive lacks the capture that the {count:,} outlinks of the record belong to"
        )
        return ReadError(self._file, recorded.offset, "outlink", message)


def _changed(held: Mapping[str, Document], amended: Mapping[str, Document]) -> tuple[Document, ...]:
    return tuple(document for id, document in amended.items() if document != held[id])
