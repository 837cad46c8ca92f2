"""CDX lines as rows of texts: what a CDX server moves about, a million at a time.

A `CdxLine` is checked and typed; a row is the line as it stands, in the
order of eleven fields, so that most answers are a row put together again.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from nwx.captures import names_capture
from nwx.cdx.cdxj import parse_object, url_of_key
from nwx.cdx.lines import LAYOUTS, REVISIT, Layout, without_file_is_revisit
from nwx.errors import CdxError

NOTHING = "-"


class CdxRow(NamedTuple):
    """A capture as the fields of a CDX line, `-` for what is missing.

    `extra` is a JSON object of further fields as CDXJ has them, "" for none.
    """

    urlkey: str
    timestamp: str
    url: str
    mime: str
    status: str
    digest: str
    redirect: str
    robotflags: str
    length: str
    offset: str
    filename: str
    collection: str = ""
    extra: str = ""


_LETTERS = "NbamskrMSVg"
_OTHER_LETTERS = {"N": "A", "k": "c", "V": "v"}
_CDX11_FIELDS = 11
_CDXJ_NAMES = {
    "url": 2,
    "mime": 3,
    "status": 4,
    "digest": 5,
    "redirect": 6,
    "robotflags": 7,
    "length": 8,
    "offset": 9,
    "filename": 10,
    # ipwb and other writers of the ORS dialect
    "original_uri": 2,
    "mime_type": 3,
    "status_code": 4,
}
_ORIGINALS = ("orig.length", "orig.offset", "orig.filename")


def is_revisit_row(row: CdxRow) -> bool:
    """Return whether a row stands for a revisit record."""
    return row.mime == REVISIT


def row_is_capture(row: CdxRow) -> bool:
    """Return whether a row stands for a capture (`nwx.captures.names_capture`)."""
    url, mime = row.url, row.mime
    if url.startswith("http") and "warc" not in mime and not mime.startswith("arc/"):
        return True
    return names_capture(mime, row.status, url)


def row_parser(layout: Layout | None, collection: str) -> Callable[[str], CdxRow]:
    """Return what makes rows of lines, which are CDX of a layout, or of usual ones, or CDXJ.

    The parser raises CdxError on a line that cannot be read.
    """
    makers = {len(known.letters): _maker(known, collection) for known in LAYOUTS.values()}
    if layout is not None:
        makers = {len(layout.letters): _maker(layout, collection)}
    delimiter = layout.delimiter if layout else " "
    return partial(_parsed, makers, delimiter, collection)


def _parsed(
    makers: dict[int, Callable[[list[str]], CdxRow]], delimiter: str, collection: str, line: str
) -> CdxRow:
    values = line.split(delimiter)
    if len(values) > 2 and values[2].startswith("{"):
        return _of_cdxj(line, collection)
    maker = makers.get(len(values))
    if maker is None:
        known = ", ".join(map(str, makers))
        raise CdxError(f"a line of {len(values)} fields; {known} or CDXJ are read")
    return maker(values)


def _maker(layout: Layout, collection: str) -> Callable[[list[str]], CdxRow]:
    if layout.letters == _LETTERS:
        return lambda values: CdxRow._make([*values, collection, ""])
    width = len(layout.letters)
    places = [layout.place(letter + _OTHER_LETTERS.get(letter, "")) for letter in _LETTERS]
    chosen = itemgetter(*(place if place >= 0 else width for place in places))

    def make(values: list[str]) -> CdxRow:
        return CdxRow._make([*chosen([*values, NOTHING]), collection, ""])

    if without_file_is_revisit(layout):
        return lambda values: _as_revisit(make(values))
    if width == _CDX11_FIELDS + len(_ORIGINALS):
        return lambda values: make(values)._replace(extra=_originals(values[_CDX11_FIELDS:]))
    return make


def _as_revisit(row: CdxRow) -> CdxRow:
    """Return a row of a 9-field CDX, where a missing file name tells a revisit."""
    return row._replace(mime=REVISIT) if row.filename == NOTHING else row


def _originals(values: Sequence[str]) -> str:
    named = zip(_ORIGINALS, values, strict=True)
    known = {name: value for name, value in named if value != NOTHING}
    return json.dumps(known) if known else ""


def _of_cdxj(line: str, collection: str) -> CdxRow:
    urlkey, timestamp, text = line.split(" ", 2)
    found = parse_object(text)
    values = [urlkey, timestamp, *(NOTHING,) * 9, collection, ""]
    extra = {}
    for name, value in found.items():
        if not isinstance(value, str):
            value = json.dumps(value)
        place = _CDXJ_NAMES.get(name)
        if place is None:
            extra[name] = value
        elif value:
            values[place] = value
    if values[2] == NOTHING:
        values[2] = url_of_key(urlkey)
    if extra:
        values[-1] = json.dumps(extra)
    return CdxRow._make(values)


def extra_fields(row: CdxRow) -> dict[str, str]:
    """Return the further fields of a row."""
    return json.loads(row.extra) if row.extra else {}
