"""The fields of a capture by all the names that clients know them by."""

from collections.abc import Callable, Sequence

from nwx.cdx.rows import NOTHING, CdxRow, extra_fields
from nwx.cdxserver.query.digest_spelling import spelled
from nwx.errors import CdxQueryError
from nwx.values.digests import DigestForm

PLACES = {
    "urlkey": 0,
    "timestamp": 1,
    "url": 2,
    "original": 2,
    "mime": 3,
    "mimetype": 3,
    "status": 4,
    "statuscode": 4,
    "digest": 5,
    "redirect": 6,
    "redirecturl": 6,
    "robotflags": 7,
    "length": 8,
    "offset": 9,
    "filename": 10,
    "collection": 11,
}
"""Names of fields, and where these stand in a row."""

EXTRA = {
    "orig.length": "orig.length",
    "orig.offset": "orig.offset",
    "orig.filename": "orig.filename",
    "originalLength": "orig.length",
    "originalOffset": "orig.offset",
    "originalFilename": "orig.filename",
    "method": "method",
    "requestBody": "requestBody",
}
"""Names of fields that few captures have, and what CDXJ calls them."""

LINE = (
    "urlkey",
    "timestamp",
    "url",
    "mime",
    "status",
    "digest",
    "redirect",
    "robotflags",
    "length",
    "offset",
    "filename",
)
"""The fields of a CDX line of eleven, which a row begins with."""

MIME, DIGEST = 3, 5

Value = Callable[[CdxRow], str]


def field_value(name: str, parameter: str, form: DigestForm | None = None) -> Value:
    """Return what reads a field of a row, digests in the spelling of `form`.

    `name` may be the number of a field of a CDX line, from 0. Raises
    CdxQueryError on any other name.
    """
    place = column_of(name)
    if place == DIGEST and form is not None:
        return lambda row: spelled(row.digest, form)
    if place is not None:
        return lambda row: row[place] or NOTHING
    extra = EXTRA.get(name)
    if extra is None:
        known = ", ".join((*PLACES, *EXTRA))
        raise CdxQueryError(f"{parameter} names the field {name[:40]!r}; known are {known}")
    return lambda row: extra_fields(row).get(extra, NOTHING)


def column_of(name: str) -> int | None:
    """Return where a field stands in a row, None where it is no field of every row."""
    if name.isascii() and name.isdigit() and len(name) < 3 and int(name) < len(LINE):
        return int(name)
    return PLACES.get(name)


def field_values(
    names: Sequence[str], form: DigestForm | None
) -> Callable[[CdxRow], tuple[str, ...]]:
    """Return what reads fields of a row in the order of their names."""
    places = [column_of(name) for name in names]
    wanted = list(range(len(places)))
    if form is None and places == wanted:
        end = len(places)
        return lambda row: row[:end]
    readers = [field_value(name, "fl", form) for name in names]
    return lambda row: tuple([read(row) for read in readers])
