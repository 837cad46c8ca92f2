"""Which version of an image a page shows."""

from collections.abc import Sequence

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.entries import id_of
from nwx.engine.pictures.picture_index import Appearance, PictureIndex
from nwx.model import Capture

_NEAR = 16
_AT_ONCE = 200


def shown_versions(
    engine: Engine, index: PictureIndex, appearances: Sequence[Appearance]
) -> list[str]:
    """Return for each appearance the id of its picture, "" where the index has none.

    It is the one of the capture nearest in time to the page's, revisits
    included.
    """
    found: list[str] = []
    for start in range(0, len(appearances), _AT_ONCE):
        some = appearances[start : start + _AT_ONCE]
        asked = [KeysAtTime((one.urlkey,), one.page_timestamp) for one in some]
        near = [_documents(captures) for captures in engine.captures_near(asked, _NEAR)]
        known = index.pictures_of({id for ids in near for id in ids})
        found += [next((id for id in ids if id in known), "") for ids in near]
    return found


def _documents(captures: Sequence[Capture]) -> list[str]:
    return [id_of(one) for one in captures if one.digest]
