"""The values of captures by the names that clients know their fields by."""

from collections.abc import Callable, Sequence
from operator import itemgetter

from nwx.cdx.field_names import CDX_FIELDS, DIGEST, EXTRA_FIELDS, FIELD_PLACES
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow, extra_fields
from nwx.cdxserver.query.digest_forms import spelled
from nwx.errors import CdxQueryError
from nwx.values.digests import DigestForm

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
        return lambda row: row[place] or NO_VALUE
    extra = EXTRA_FIELDS.get(name)
    if extra is None:
        known = ", ".join((*FIELD_PLACES, *EXTRA_FIELDS))
        raise CdxQueryError(f"{parameter} names the field {name[:40]!r}; known are {known}")
    return lambda row: extra_fields(row).get(extra, NO_VALUE)


def column_of(name: str) -> int | None:
    """Return where a field stands in a row, None where it is no field of every row."""
    if name.isascii() and name.isdigit() and len(name) < 3 and int(name) < len(CDX_FIELDS):
        return int(name)
    return FIELD_PLACES.get(name)


def field_values(
    names: Sequence[str], form: DigestForm | None
) -> Callable[[CdxRow], tuple[str, ...]]:
    """Return what reads fields of a row in the order of their names."""
    places = [column_of(name) for name in names]
    wanted = list(range(len(places)))
    if form is None and places == wanted:
        end = len(places)
        return lambda row: row[:end]
    if len(places) < 2 or any(place is None for place in places):
        readers = [field_value(name, "fl", form) for name in names]
        return lambda row: tuple([read(row) for read in readers])
    columns = [place for place in places if place is not None]
    digests = [number for number, place in enumerate(columns) if place == DIGEST]
    return _of_columns(itemgetter(*columns), digests if form is not None else (), form)


def _of_columns(
    read: Callable[[CdxRow], tuple[str, ...]], digests: Sequence[int], form: DigestForm | None
) -> Callable[[CdxRow], tuple[str, ...]]:
    """Return what reads fields that every row has, some of them digests to be spelled."""

    def values(row: CdxRow) -> tuple[str, ...]:
        found = read(row)
        if "" in found:
            found = tuple([value or NO_VALUE for value in found])
        if form is None or not digests:
            return found
        written = list(found)
        for number in digests:
            written[number] = spelled(row.digest, form)
        return tuple(written)

    return values
