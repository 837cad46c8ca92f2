"""Fields of capture indexes: their names, their order in a line, and CDX header lines."""

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter

from nwx.data_classes import dataclass
from nwx.errors import CdxError

CDX_FIELDS = (
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
"""The fields of an 11-field CDX line, in order; a `CdxRow` begins with them."""

URL, MIME, STATUS, DIGEST, FILENAME = (
    CDX_FIELDS.index(name) for name in ("url", "mime", "status", "digest", "filename")
)

LETTERS = ("NA", "b", "a", "m", "s", "kc", "r", "M", "S", "Vv", "g")
"""The letters of each of CDX_FIELDS in the headers of CDX files, the usual one first."""

CDXJ_PLACES = {name: place for place, name in enumerate(CDX_FIELDS) if place >= URL}
"""Positions in a row of the CDXJ values that every row has."""

CDXJ_PLACES_ORS = {"original_uri": URL, "mime_type": MIME, "status_code": STATUS}
"""The same for the names of the ORS dialect, which ipwb and other tools write."""

ORIGINAL_FIELDS = ("orig.length", "orig.offset", "orig.filename")
"""CDXJ names of the last three of OutbackCDX's 14 fields: the record that a revisit refers to."""

FIELD_PLACES = {
    **{name: place for place, name in enumerate(CDX_FIELDS)},
    "original": URL,
    "mimetype": MIME,
    "statuscode": STATUS,
    "redirecturl": CDX_FIELDS.index("redirect"),
    "collection": len(CDX_FIELDS),
}
"""Positions in a row by the field names that clients use."""

EXTRA_FIELDS = {
    **{name: name for name in ORIGINAL_FIELDS},
    "originalLength": "orig.length",
    "originalOffset": "orig.offset",
    "originalFilename": "orig.filename",
    "method": "method",
    "requestBody": "requestBody",
}
"""CDXJ names by the clients' names of fields that few captures have."""


NO_VALUE = "-"
"""The placeholder of a missing value in a line."""

_HEADER = re.compile(rb"([\x00-/:-@\[-`{-\x7f])?CDX((?:[\x00-/:-@\[-`{-\x7f][A-Za-z])+)[ \t]*")


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of the fields of a CDX line, one letter each, and their delimiter."""

    letters: str
    delimiter: str = " "

    def place(self, letters: str) -> int:
        """Return the position of the first of these letters in the layout, or -1."""
        for letter in letters:
            if letter in self.letters:
                return self.letters.index(letter)
        return -1


CDX7 = Layout("NbamskS")
CDX9 = Layout("NbamskrVg")
CDX10 = Layout("NbamskrMVg")
CDX11 = Layout("NbamskrMSVg")
CDX14 = Layout("NbamskrMSVgSVg")
LAYOUTS = {len(layout.letters): layout for layout in (CDX7, CDX9, CDX10, CDX11, CDX14)}
"""The layouts of lines without a header, by the number of fields."""


DATE_FIRST = Layout("bka")
DATE_LAST = Layout("akb")
LIST_LAYOUTS = (DATE_FIRST, DATE_LAST)
"""The layouts of exclusion lists: `date digest url`, and `url digest date` of other tools."""


def parse_header(line: bytes) -> Layout | None:
    """Return the layout in a header line, None for any other line.

    Raises CdxError on a header without a date or a URL.
    """
    found = _HEADER.fullmatch(line)
    if found is None:
        return None
    delimiter = found[1] or b" "
    letters = found[2].decode("ascii").replace(delimiter.decode("ascii"), "")
    if not letters.isalpha():
        raise CdxError(f"the header {line[:80]!r} mixes delimiters")
    layout = Layout(letters, delimiter.decode("ascii"))
    require_fields(layout)
    return layout


def require_fields(layout: Layout) -> None:
    """Raise CdxError if a layout lacks the timestamp or the URL."""
    for letter, name in (("b", "a timestamp (b)"), ("a", "a URL (a)")):
        if layout.place(letter) < 0:
            raise CdxError(f"the layout {layout.letters!r} has no field for {name}")


def format_header(layout: Layout) -> str:
    """Return the header line of a layout, without a newline."""
    return layout.delimiter + layout.delimiter.join(("CDX", *layout.letters))


def without_file_is_revisit(layout: Layout) -> bool:
    """Return whether `-` in the ninth field marks revisits in this layout."""
    return len(layout.letters) == 9 and layout.place("g") == 8


@lru_cache(maxsize=256)
def field_chooser(layout: Layout) -> Callable[[list[str]], tuple[str, ...]]:
    """Return a function that puts the values of a line in the order of CDX_FIELDS, `-` if missing.

    It takes one value for each letter of the layout.
    """
    if layout.letters[: len(CDX_FIELDS)] == CDX11.letters:
        return lambda values: tuple(values[: len(CDX_FIELDS)])
    width = len(layout.letters)
    places = [layout.place(letters) for letters in LETTERS]
    chosen = itemgetter(*(place if place >= 0 else width for place in places))
    return lambda values: chosen([*values, NO_VALUE])
