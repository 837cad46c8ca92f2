"""Building of the index pictures from the captures of an archive, in resumable steps."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import msgspec

from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.bulk.resources import processors
from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.entries import id_of
from nwx.engine.indices.picture_index import MOST_APPEARANCES, Appearance, Picture, PictureIndex
from nwx.errors import SourceError, StaleMarkError
from nwx.keys import makes_document, precedence
from nwx.model import Capture, IndexName
from nwx.pictures.measures import MeasuredImage, ReadAnswer, read_capture
from nwx.pictures.page_images import ImagesOfPage
from nwx.quality.stored_blocks import is_decoded
from nwx.values.media_types import HTML
from nwx.values.records import copied
from nwx.warc.sources import FilePlaces

_NEAR = 16
_APPEARANCES_AT_ONCE = 200


def shown_versions(
    engine: Engine, index: PictureIndex, appearances: Sequence[Appearance]
) -> list[str]:
    """Return for each appearance the id of its picture, "" if the index has none.

    The picture's capture nearest in time to the page's is chosen, revisits included.
    """
    found: list[str] = []
    for some in batches(appearances, _APPEARANCES_AT_ONCE):
        asked = [KeysAtTime((one.urlkey,), one.page_timestamp) for one in some]
        near = [_documents(captures) for captures in engine.captures_near(asked, _NEAR)]
        known = index.pictures_of({id for ids in near for id in ids})
        found += [next((id for id in ids if id in known), "") for ids in near]
    return found


def _documents(captures: Sequence[Capture]) -> list[str]:
    return [id_of(one) for one in captures if one.digest]


_AT_ONCE = 500
_STATE = "build"
_FORMAT = 1
_PROBLEMS_KEPT = 100
_COUNTED = ("captures", "pages", "pictures", "appearances", "unreadable")
_SUCCESS = (200, None)


@dataclass(frozen=True, slots=True)
class PictureBuildReport:
    """Result of a build.

    Of the `captures` examined, `pages` were read and `pictures` measured. `appearances` counts
    images on pages. `problems` describes some of the `unreadable` captures.
    """

    captures: int
    pages: int
    pictures: int
    appearances: int
    unreadable: int
    problems: tuple[str, ...]
    seconds: float


def build_pictures(
    engine: Engine,
    *,
    workers: int | None = None,
    anew: bool = False,
    progress: ShowProgress = no_progress,
) -> PictureBuildReport:
    """Update the index pictures with the captures stored since the last build.

    With `anew` it is cleared first. An interrupted build is resumed by the next one. Captures that
    cannot be read are counted and left out.
    """
    index = engine.picture_index()
    if anew:
        index.clear()
    build = _Build(engine, workers or processors(), progress)
    with build:
        try:
            build.run(_mark(index.state(_STATE)))
        except StaleMarkError:
            build.run("")
    return build.report()


def is_current(engine: Engine) -> bool:
    """Return whether pictures were built from all stored captures."""
    return _mark(engine.picture_index().state(_STATE)) == engine.capture_mark()


def _mark(state: bytes | None) -> str:
    """Return the mark after the examined captures; "" for the beginning."""
    known = msgspec.json.decode(state) if state else {}
    return str(known["mark"]) if known.get("format") == _FORMAT else ""


class _Build:
    def __init__(self, engine: Engine, workers: int, progress: ShowProgress) -> None:
        self._engine, self._workers, self._progress = engine, workers, progress
        self._pool = Pool(workers)
        self._index = engine.picture_index()
        self._places = FilePlaces(engine.files)
        self._counts: Counter[str] = Counter()
        self._problems: list[str] = []
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.__exit__(*error)

    def run(self, mark: str) -> None:
        until = self._engine.capture_mark()
        total = 0 if mark else self._engine.count(IndexName.CAPTURES)
        for some in batches(self._engine.captures_since(mark, until), _AT_ONCE):
            self._take([capture for capture, _ in some])
            self._keep(some[-1][1])
            self._counts["captures"] += len(some)
            found = {name: self._counts[name] for name in ("pictures", "pages")}
            counts = {name.removesuffix("s"): count for name, count in found.items()}
            done = self._counts["captures"]
            self._progress(WorkProgress("building pictures", done, total, counts=counts))
        if until:
            self._keep(until)

    def _keep(self, mark: str) -> None:
        self._index.put_state(_STATE, msgspec.json.encode({"format": _FORMAT, "mark": mark}))

    def report(self) -> PictureBuildReport:
        """Return the result so far."""
        return PictureBuildReport(
            **{name: self._counts[name] for name in _COUNTED},
            problems=tuple(self._problems),
            seconds=time.monotonic() - self._begun,
        )

    def _take(self, captures: Sequence[Capture]) -> None:
        pictures: dict[str, Picture] = {}
        appearances: list[Appearance] = []
        wanted = self._wanted(captures)
        for (capture, _), answer in zip(wanted, self._answers(wanted), strict=True):
            if isinstance(answer, MeasuredImage):
                pictures[id_of(capture)] = _picture(capture, answer)
            elif isinstance(answer, ImagesOfPage):
                appearances += _appearances(capture, answer)
                self._counts["pages"] += 1
            else:
                self._note(capture, answer)
        self._counts["pictures"] += len(pictures)
        self._put(list(pictures.values()), self._kept(appearances))

    def _wanted(self, captures: Sequence[Capture]) -> list[tuple[Capture, bool]]:
        """Return unmeasured images and pages, each with whether it is a page.

        Of several captures of a page, the one that its document was made from is chosen: dates may
        be earlier than all captures.
        """
        chosen = [
            (id_of(one), one, is_page)
            for one in captures
            if (is_page := _is_page(one)) or (is_decoded(one) and makes_document(one))
        ]
        ranks = self._engine.known({id for id, _, _ in chosen})
        measured = self._index.pictures_of({id for id, _, is_page in chosen if not is_page})
        found: dict[str, tuple[Capture, bool]] = {}
        for id, capture, is_page in chosen:
            is_new = ranks.get(id) == precedence(capture) if is_page else id not in measured
            if id in ranks and id not in found and is_new:
                found[id] = capture, is_page
        return list(found.values())

    def _answers(self, wanted: Sequence[tuple[Capture, bool]]) -> Iterator[ReadAnswer]:
        tasks = [(self._path(capture), capture, is_page) for capture, is_page in wanted]
        there = [(path, capture, is_page) for path, capture, is_page in tasks if path]
        answers = iter(self._read(there))
        for path, _, _ in tasks:
            yield next(answers) if path else "the location of its file is unknown"

    def _read(self, tasks: Sequence[tuple[str, Capture, bool]]) -> list[ReadAnswer]:
        """Return the answer to each task; if one kills its process, retry with halves."""
        try:
            return list(self._pool.map(read_capture, tasks))
        except SourceError:
            self._pool.__exit__(None, None, None)  # its processes have ended
            self._pool = Pool(self._workers)
        if len(tasks) == 1:
            return ["it crashes the process that reads it"]
        middle = len(tasks) // 2
        return [*self._read(tasks[:middle]), *self._read(tasks[middle:])]

    def _path(self, capture: Capture) -> str:
        return self._places.path(capture.collection, capture.source_file) or ""

    def _note(self, capture: Capture, problem: str) -> None:
        self._counts["unreadable"] += 1
        if len(self._problems) < _PROBLEMS_KEPT:
            place = f"{capture.source_file} at {capture.source_file_offset:,}"
            self._problems.append(f"{place}: {problem}")

    def _kept(self, appearances: list[Appearance]) -> list[Appearance]:
        """Return appearances, at most MOST_APPEARANCES per image."""
        known = self._index.appearance_counts({one.urlkey for one in appearances})
        counts = Counter(known)
        kept = []
        for one in appearances:
            counts[one.urlkey] += 1
            if counts[one.urlkey] <= MOST_APPEARANCES:
                kept.append(one)
        self._counts["appearances"] += len(kept)
        return kept

    def _put(self, pictures: list[Picture], appearances: list[Appearance]) -> None:
        """Store pictures and appearances, and join existing appearances with new pictures."""
        self._index.put(pictures)
        known = self._index.appearances_at({picture.urlkey for picture in pictures})
        new = {(one.page, one.urlkey) for one in appearances}
        old = [one for one in known if (one.page, one.urlkey) not in new]
        shown = shown_versions(self._engine, self._index, [*appearances, *old])
        joined = [
            replace(one, picture=picture)
            for one, picture in zip([*appearances, *old], shown, strict=True)
        ]
        changed = [
            now for now, one in zip(joined[len(appearances) :], old, strict=True) if now != one
        ]
        self._index.put([], [*joined[: len(appearances)], *changed])


def _is_page(capture: Capture) -> bool:
    is_html = capture.content_type_norm == HTML and capture.status_code in _SUCCESS
    return is_html and makes_document(capture)


def _picture(capture: Capture, image: MeasuredImage) -> Picture:
    return copied(Picture, image, capture, id=id_of(capture))


def _appearances(capture: Capture, page: ImagesOfPage) -> Iterator[Appearance]:
    for image in page.images:
        yield copied(
            Appearance,
            image,
            page=id_of(capture),
            page_url=capture.url,
            page_title=page.title,
            page_timestamp=capture.timestamp,
            page_collection=capture.collection,
        )
