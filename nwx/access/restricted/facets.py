"""The captures in bulk that a viewer may see."""

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path

from nwx.access.hidden_spans import HiddenPlaces
from nwx.access.restricted.captures import reading_only
from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.facet_store import CapturePlace, CaptureRows, FacetStore, StoredBuild
from nwx.engine.selection import LiveSelection
from nwx.model import Capture

_STAMP_BYTES = 12


class RestrictedFacetStore(FacetStore):
    """The visible captures in bulk, without what was built of all captures.

    Stored combinations count hidden captures too, which cannot be taken off:
    whoever asks counts anew.
    """

    def __init__(self, engine: Engine, decisions: Decisions) -> None:
        self._store = engine.facet_store()
        self._decisions = decisions
        self._places = HiddenPlaces(self._store, decisions)

    @property
    def whole(self) -> FacetStore:
        """The store of all captures, for whoever leaves out the hidden places by themselves."""
        return self._store

    def hidden_places(self) -> Mapping[str, "array[int]"]:
        """Return the offsets of hidden captures by `<collection>/<file name>`."""
        return self._places.current()

    @property
    def folder(self) -> Path:  # type: ignore[override]
        """Where blobs lie on this machine."""
        return self._store.folder

    def version(self) -> str:
        """Return "": there is no build of what is visible."""
        return ""

    def current(self) -> StoredBuild | None:
        """Return None: there is no build of what is visible."""
        return None

    def blobs(self) -> set[str]:
        """Return no names."""
        return set()

    def put(self, path: Path) -> None:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def get(self, blobs: Mapping[str, int]) -> None:
        """Raise EngineError: there are no blobs."""
        raise reading_only()

    def delete(self, names: Collection[str]) -> None:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def swap(self, build: StoredBuild, version: str) -> None:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def stamp(self) -> str:
        """Return a text that differs whenever captures, or what hides them, changed."""
        return self._stamp(self._store.stamp())

    def month_stamps(self) -> dict[str, str]:
        """Return the same for each month."""
        return {month: self._stamp(one) for month, one in self._store.month_stamps().items()}

    def _stamp(self, stamp: str) -> str:
        """Return what differs when a stamp does, which counts what is hidden too."""
        text = f"{stamp} {self._decisions.key}"
        return blake2b(text.encode(), digest_size=_STAMP_BYTES).hexdigest()

    def capture_rows(
        self, months: Collection[str] | None = None, after: str = ""
    ) -> Iterator[CaptureRows]:
        """Stream the visible captures of these months, or of all, from a mark on."""
        hides = self._decisions.hides_values
        for some in self._store.capture_rows(months, after):
            rows = [
                row
                for row in some.rows
                if not hides(row[10], row[1], row[2] or "", row[11], row[12], row[0])
            ]
            yield CaptureRows(rows, some.after)

    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        """Return those of the captures at these places that are visible."""
        found = self._store.captures_at(places)
        return [one for one in found if not self._decisions.hides(one)]

    def live_selection(self) -> AbstractContextManager[LiveSelection] | None:
        """Return None: what is looked up by conditions would count hidden captures."""
        return None
