"""Captures in bulk, links and pictures restricted to what a viewer may see."""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from nwx.access.date_decisions import HiddenPlaces
from nwx.access.hidden_urls import HiddenUrls
from nwx.access.restricted_captures import forwarded, writing_refused
from nwx.access.restricted_entries import VisibleEntries
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import CapturePlace, CaptureRows, FacetStore, LiveSelection, StoredBuild
from nwx.engine.indices.picture_index import (
    Appearance,
    FoundPicture,
    Picture,
    PictureIndex,
    PictureQuestion,
    PictureResult,
    SimilarPicture,
    appearance_entry,
    appearance_from_entry,
    is_hidden,
    picture_entry,
    picture_from_entry,
)
from nwx.engine.inlinks.inlink_index import ID_BYTES, DocumentStates, InlinkIndex, LinkingDocument
from nwx.engine.inlinks.table import InlinkTable, VisibleTable
from nwx.errors import EngineError
from nwx.model import Capture
from nwx.query.question import NONE_HIDDEN, HiddenDocuments

_STAMP_BYTES = 12


class RestrictedFacetStore(FacetStore):
    """The visible captures in bulk, without the builds made from all captures.

    Stored combinations include hidden captures, which cannot be subtracted: callers must count
    again.
    """

    def __init__(self, engine: Engine, decisions: Decisions) -> None:
        self._store = engine.facet_store()
        self._decisions = decisions
        self._places = HiddenPlaces(self._store, decisions)

    @property
    def whole(self) -> FacetStore:
        """The store of all captures, for callers that leave out hidden captures themselves."""
        return self._store

    def hidden_places(self) -> Mapping[str, "array[int]"]:
        """Return the offsets of hidden captures by `<collection>/<file name>`."""
        return self._places.current()

    @property
    def folder(self) -> Path:  # type: ignore[override]
        """The local folder of the blobs."""
        return self._store.folder

    def version(self) -> str:
        """Return "": no build of the visible part exists."""
        return ""

    def current(self) -> StoredBuild | None:
        """Return None: no build of the visible part exists."""
        return None

    def blobs(self) -> set[str]:
        return set()

    def stamp(self) -> str:
        return self._stamp(self._store.stamp())

    def month_stamps(self) -> dict[str, str]:
        return {month: self._stamp(one) for month, one in self._store.month_stamps().items()}

    def _stamp(self, stamp: str) -> str:
        """Return a digest that changes with a stamp, which counts hidden captures too."""
        text = f"{stamp} {self._decisions.key}"
        return blake2b(text.encode(), digest_size=_STAMP_BYTES).hexdigest()

    def capture_rows(
        self, months: Collection[str] | None = None, after: str = ""
    ) -> Iterator[CaptureRows]:
        hides = self._decisions.hides_values
        for some in self._store.capture_rows(months, after):
            rows = [
                row
                for row in some.rows
                if not hides(row[10], row[1], row[2] or "", row[11], row[12], row[0])
            ]
            yield CaptureRows(rows, some.after)

    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        found = self._store.captures_at(places)
        return [one for one in found if not self._decisions.hides(one)]

    def live_selection(self) -> AbstractContextManager[LiveSelection] | None:
        """Return None: a selection by conditions would count hidden captures."""
        return None

    put = get = delete = swap = writing_refused


def _refused_blobs(self: object, *given: Any, **named: Any) -> Any:
    """Raise EngineError: blobs contain hidden data too."""
    raise EngineError.translated(
        "only users who see the whole archive can read the blobs of inlinks"
    )


class RestrictedInlinkIndex(InlinkIndex):
    """The visible inlinks of an engine, available from `table` only, not as blobs."""

    def __init__(
        self,
        engine: Engine,
        decisions: Decisions,
        urls: HiddenUrls,
        hidden: Callable[[], HiddenDocuments],
    ) -> None:
        self._engine, self._decisions, self._urls = engine, decisions, urls
        self._index = engine.inlink_index()
        self._hidden = hidden
        self._known: tuple[str, VisibleTable] | None = None

    @property
    def folder(self) -> Path:  # type: ignore[override]
        """The local folder for blobs."""
        return self._index.folder

    def stamp(self) -> str:
        return self._index.stamp()

    def table(self) -> InlinkTable | None:
        version = self.version()
        known = self._known
        if known is None or known[0] != version:
            table = self._index.table()
            if table is None:
                return None
            shown = VisibleTable(table, self._hidden(), self._engine.dates, self._hidden_keys)
            known = self._known = version, shown
        return known[1]

    def _hidden_keys(self, keys: Sequence[str]) -> set[str]:
        if not keys or not self._decisions.touches(keys[0], f"{keys[-1]}\x00"):
            return set()
        return self._urls.keys_among(keys)

    def document_states(self) -> Iterator[DocumentStates]:
        for some in self._index.document_states():
            raw = [some.ids[at : at + ID_BYTES] for at in range(0, len(some.ids), ID_BYTES)]
            visible = self._visible(raw)
            kept = np.array([id in visible for id in raw], dtype=bool)
            ids = b"".join(id for id in raw if id in visible)
            yield DocumentStates(ids, some.states[kept])

    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        """Yield the visible documents of these ids, without links to hidden URLs."""
        hidden = self._hidden()
        for document in self._index.linking_documents(ids):
            id = document.id.hex()
            seen = [one for one in document.seen if not hidden.hides_date(id, *one)]
            if id not in hidden.documents and (seen or not document.seen):
                yield self._without_hidden(document)._replace(seen=seen)

    def _without_hidden(self, document: LinkingDocument) -> LinkingDocument:
        out = self._urls.among(set(document.links))
        if not out:
            return document
        kept = [place for place, url in enumerate(document.links) if url not in out]
        return document._replace(
            links=[document.links[place] for place in kept],
            texts=[document.texts[place] for place in kept],
            kinds=[document.kinds[place] for place in kept],
        )

    def _visible(self, raw: Sequence[bytes]) -> set[bytes]:
        hidden = self._hidden()
        if not hidden.spans:
            return {id for id in raw if id.hex() not in hidden.documents}
        dates = self._engine.dates([id.hex() for id in raw])
        return {
            id
            for id in raw
            if not hidden.hides(id.hex(), dates[id.hex()].seen if id.hex() in dates else ())
        }

    def version(self) -> str:
        version = self._index.version()
        return f"{version} {self._decisions.key} {self._hidden().key}" if version else ""

    current = blobs = put = get = delete = swap = _refused_blobs


class RestrictedPictureIndex(PictureIndex):
    """Visible pictures, found by the words of visible pages.

    `restricted` is the engine as the viewer sees it, `current` returns the hidden documents. A
    hidden date is replaced by the first visible one.
    """

    def __init__(
        self, engine: Engine, restricted: Engine, current: Callable[[], HiddenDocuments]
    ) -> None:
        self._engine = engine
        self._index = engine.picture_index()
        self._restricted = restricted
        self._current = current

    is_made = forwarded("_index")
    state = forwarded("_index")
    states = forwarded("_index")
    put = remove = clear = put_state = writing_refused

    def pictures_of(self, ids: Collection[str]) -> dict[str, Picture]:
        found = self._index.pictures_of(ids)
        hidden = self._current()
        seen = {id: one for id, one in found.items() if not _hides_picture(hidden, one)}
        return {one.id: one for one in self._dated(list(seen.values()), hidden)}

    def appearances_at(self, urlkeys: Collection[str]) -> list[Appearance]:
        return self._shown(self._index.appearances_at(urlkeys), self._current())

    def appearance_counts(self, urlkeys: Collection[str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for one in self.appearances_at(urlkeys):
            counts[one.urlkey] = counts.get(one.urlkey, 0) + 1
        return counts

    def search(self, question: PictureQuestion) -> PictureResult:
        hidden = self._current()
        result = self._index.search(replace(question, hidden=hidden))
        pictures = self._dated([found.picture for found in result.pictures], hidden)
        pages = self._paged([one.appearance for one in result.pictures if one.appearance], hidden)
        shown = (
            FoundPicture(picture, next(pages) if found.appearance else None)
            for picture, found in zip(pictures, result.pictures, strict=True)
        )
        return PictureResult(result.total, tuple(shown))

    def appearances_of(
        self, id: str, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[Appearance]:
        hidden = self._current()
        if id not in self.pictures_of([id]):
            return []
        return list(self._paged(self._index.appearances_of(id, limit, hidden), hidden))

    def similar(
        self, hash: int, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[SimilarPicture]:
        hidden = self._current()
        found = self._index.similar(hash, limit, hidden)
        pictures = self._dated([one.picture for one in found], hidden)
        return [one._replace(picture=shown) for one, shown in zip(found, pictures, strict=True)]

    def shown_entries(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        """Yield the visible entries, with visible dates."""
        hidden = self._current()
        pictures = [picture_from_entry(one) for one in entries if one["kind"] == "picture"]
        shown = [one for one in pictures if not _hides_picture(hidden, one)]
        known = {one.id: picture_entry(one) for one in self._dated(shown, hidden)}
        pages = [appearance_from_entry(one) for one in entries if one["kind"] != "picture"]
        known |= {one["id"]: one for one in map(appearance_entry, self._shown(pages, hidden))}
        yield from (one | known[one["id"]] for one in entries if one["id"] in known)

    def _shown(self, appearances: list[Appearance], hidden: HiddenDocuments) -> list[Appearance]:
        """Return the appearances of visible pictures on visible pages."""
        pictures = self._index.pictures_of({one.picture for one in appearances} - {""})
        gone = {id for id, one in pictures.items() if _hides_picture(hidden, one)}
        shown = [
            one
            for one in appearances
            if one.picture not in gone
            and not is_hidden(hidden, one.page, one.page_timestamp, one.page_collection)
        ]
        return list(self._paged(shown, hidden))

    def _dated(self, pictures: list[Picture], hidden: HiddenDocuments) -> list[Picture]:
        wrong = [
            one.id for one in pictures if hidden.hides_date(one.id, one.timestamp, one.collection)
        ]
        seen = self._first_dates(wrong)
        return [
            replace(one, timestamp=seen[one.id][0], collection=seen[one.id][1])
            if one.id in seen
            else one
            for one in pictures
        ]

    def _paged(
        self, appearances: list[Appearance], hidden: HiddenDocuments
    ) -> Iterator[Appearance]:
        seen = self._first_dates(
            one.page
            for one in appearances
            if hidden.hides_date(one.page, one.page_timestamp, one.page_collection)
        )
        for one in appearances:
            timestamp, collection = seen.get(one.page, (one.page_timestamp, one.page_collection))
            yield replace(one, page_timestamp=timestamp, page_collection=collection)

    def _first_dates(self, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        wanted = list(dict.fromkeys(ids))
        found = self._restricted.dates(wanted) if wanted else {}
        return {id: one.seen[0] for id, one in found.items() if one.seen}


def _hides_picture(hidden: HiddenDocuments, picture: Picture) -> bool:
    return is_hidden(hidden, picture.id, picture.timestamp, picture.collection)


class VisiblePictureEntries(VisibleEntries):
    """The visible pictures, and their appearances on visible pages."""

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        return self._restricted.picture_index().shown_entries(entries)
