"""Where a build reads captures from."""

from collections.abc import Iterator

from nwx.engine.cube import Cube
from nwx.facets.building import Frame
from nwx.facets.frames import to_frame


class CubeSource:
    """The captures index of an archive."""

    def __init__(self, cube: Cube) -> None:
        self._cube = cube

    def stamp(self) -> str:
        """Return a text that is another one whenever captures were written or deleted."""
        return self._cube.stamp()

    def months(self) -> dict[str, str]:
        """Return for each month a text that tells whether its captures changed."""
        return self._cube.months()

    def frames(self, months: list[str] | None, after: str) -> Iterator[Frame]:
        """Stream the captures of these months, or of all, from a mark on."""
        for rows in self._cube.rows(months, after):
            yield Frame(to_frame(rows.rows), rows.after)
