"""Where a build reads captures from."""

from collections.abc import Iterator

from nwx.engine.facet_store import FacetStore
from nwx.facets.building import Frame
from nwx.facets.frames import to_frame


class ArchiveSource:
    """The captures index of an archive."""

    def __init__(self, store: FacetStore) -> None:
        self._store = store

    def stamp(self) -> str:
        """Return a text that is another one whenever captures were written or deleted."""
        return self._store.stamp()

    def months(self) -> dict[str, str]:
        """Return for each month a text that tells whether its captures changed."""
        return self._store.month_stamps()

    def frames(self, months: list[str] | None, after: str) -> Iterator[Frame]:
        """Stream the captures of these months, or of all, from a mark on."""
        for rows in self._store.capture_rows(months, after):
            yield Frame(to_frame(rows.rows), rows.after)
