"""Playback checks of new pages while an import or a watch continues."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from nwx.captures import PagePlace
from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.errors import UrlError, UsageError
from nwx.keys import capture_id
from nwx.model import Capture, IndexName
from nwx.quality.playback.check import (
    PlaybackCheck,
    PlaybackReport,
    PlaybackTally,
    Renderer,
    check_pages,
)
from nwx.quality.playback.page_choice import chance_of, repaired_captures
from nwx.quality.scores import CaptureMark, marked_captures
from nwx.values.urlkeys import urlkey

_WAIT_SECONDS, _LOOK_SECONDS = 15.0, 0.2
_IDLE_SECONDS = 15.0
"""So often pages that were mended are looked for while none arrives."""

_MENDED_AT_ONCE = 20

_MOST_PAGES = 10**9

Arrivals = SimpleQueue["PagePlace | None"]
"""Pages that came, in order; None after the last."""


@dataclass(frozen=True, slots=True)
class ArrivalSample:
    """How many pages of a file are checked: a number at most, or a share of them."""

    most: int = 0
    share: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "ArrivalSample":
        """Return the sample that a text names: 20, 0.05 or 5%; raises UsageError for others."""
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = 0.0
        if 0 < number < 1 or (text.endswith("%") and number == 1):
            return cls(share=number)
        if text.endswith("%") or not (1 <= number <= _MOST_PAGES and number.is_integer()):
            raise UsageError(
                f"{text!r} is no sample of pages: give a number of pages of each file,"
                " or a share such as 0.05 or 5%"
            )
        return cls(most=int(number))

    def chosen(self, pages: Sequence[PagePlace]) -> list[PagePlace]:
        """Return the pages of a file that are checked: by chance, the same ones each time."""
        ranked = sorted((chance_of(_id(page)), number) for number, page in enumerate(pages))
        found = [number for chance, number in ranked if chance < self.share * 2**64]
        return [pages[number] for number in sorted(found[: self.most or None])]


def check_arrivals(
    engine: Engine,
    renderer: Renderer,
    check: PlaybackCheck,
    arrivals: Arrivals,
    tell: Callable[[PlaybackReport], object],
    passed: Callable[[str], object] = lambda id: None,
) -> None:
    """Check pages as they arrive, until None does; and those that were mended by what came.

    `tell` gets the figures of a few pages at a time, `passed` the ids of
    captures that are not found and are passed over. Raises what
    `check_playback` does.
    """
    places, waiting, repairs = FilePlaces(engine), _Waiting(arrivals), _Repairs(engine)
    while not (waiting.is_over and repairs.is_done):
        waiting.patience_seconds = _IDLE_SECONDS if repairs.is_done else 0.0
        lost = PlaybackTally()

        def pass_over(page: PagePlace, lost: PlaybackTally = lost) -> None:
            lost.note(f"{page.url[:200]}: its capture is not in the archive, so it was not checked")
            passed(_id(page))

        pages = _captures(engine, places, waiting, pass_over)
        report = check_pages(engine, renderer, check, pages)
        if report.pages or lost.problems_total:
            tell(report.with_problems(lost.report()))
        if mended := repairs.some():
            tell(check_pages(engine, renderer, check, mended))


class _Waiting:
    """The pages that wait now, and soon; `is_over` when no more will come."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self.is_over = False
        self.patience_seconds = _IDLE_SECONDS

    def __iter__(self) -> Iterator[PagePlace]:
        if self.is_over:
            return
        try:
            page = self._arrivals.get(timeout=self.patience_seconds)
            while page is not None:
                yield page
                page = self._arrivals.get_nowait()
        except Empty:
            return
        self.is_over = True


class _Repairs:
    """Looks for pages that were mended when captures have come since it looked last."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stored = -1
        self._mended: list[Capture] = []

    @property
    def is_done(self) -> bool:
        """Whether all that were found have been returned."""
        return not self._mended

    def some(self) -> list[Capture]:
        """Return the captures of some of these pages: few, so that new pages need not wait long."""
        stored = self._engine.count(IndexName.CAPTURES)
        if stored != self._stored:
            self._stored = stored
            self._mended = repaired_captures(self._engine)
        some, self._mended = self._mended[:_MENDED_AT_ONCE], self._mended[_MENDED_AT_ONCE:]
        return some


def _captures(
    engine: Engine,
    places: FilePlaces,
    pages: Iterable[PagePlace],
    pass_over: Callable[[PagePlace], object],
) -> Iterator[Capture]:
    """Yield the captures of pages; `pass_over` gets pages still not found after a while."""
    for page in pages:
        until = time.monotonic() + _WAIT_SECONDS
        while (capture := _capture(engine, page)) is None or not places.is_there(capture):
            if time.monotonic() > until:
                break
            time.sleep(_LOOK_SECONDS)
        if capture is None:
            pass_over(page)
        else:
            yield capture


def _capture(engine: Engine, page: PagePlace) -> Capture | None:
    try:
        mark = CaptureMark(_id(page), urlkey(page.url), page.timestamp)
    except UrlError:
        return None
    return marked_captures(engine, [mark]).get(mark.id)


def _id(page: PagePlace) -> str:
    return capture_id(page.collection, page.source_file, page.offset)
