"""The index pictures as a viewer may see it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from nwx.access.restricted.captures import forwarded, writing_refused
from nwx.access.restricted.entry_store import VisibleEntries
from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.picture_index import (
    SIMILAR_BITS,
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
from nwx.query.question import NONE_HIDDEN, HiddenDocuments


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
        self,
        hash: int,
        limit: int,
        distance: int = SIMILAR_BITS,
        hidden: HiddenDocuments = NONE_HIDDEN,
    ) -> list[SimilarPicture]:
        hidden = self._current()
        found = self._index.similar(hash, limit, distance, hidden)
        pictures = self._dated([one.picture for one in found], hidden)
        return [one._replace(picture=shown) for one, shown in zip(found, pictures, strict=True)]

    def shown_entries(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        """Yield the visible ones of some entries."""
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
        """Return the first visible date of each of these documents."""
        wanted = list(dict.fromkeys(ids))
        found = self._restricted.dates(wanted) if wanted else {}
        return {id: one.seen[0] for id, one in found.items() if one.seen}


def _hides_picture(hidden: HiddenDocuments, picture: Picture) -> bool:
    return is_hidden(hidden, picture.id, picture.timestamp, picture.collection)


class VisiblePictureEntries(VisibleEntries):
    """The visible pictures, and their appearances on visible pages."""

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        return self._restricted.picture_index().shown_entries(entries)
