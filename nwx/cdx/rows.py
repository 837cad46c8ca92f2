"""CDX lines as rows of texts: what a CDX server moves about, a million at a time.

A `CdxLine` is checked and typed; a row is the line as it stands, in the
order of eleven fields, so that most answers are a row put together again.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from nwx.captures import names_capture
from nwx.cdx.layouts import (
    CDX11,
    CDX_FIELDS,
    LAYOUTS,
    NO_VALUE,
    ORIGINAL_FIELDS,
    Layout,
    field_chooser,
    without_file_is_revisit,
)
from nwx.cdx.lines import REVISIT, cdxj_fields
from nwx.errors import CdxError


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
    if layout == CDX11:
        return lambda values: CdxRow._make([*values, collection, ""])
    chosen = field_chooser(layout)

    def make(values: list[str]) -> CdxRow:
        return CdxRow._make([*chosen(values), collection, ""])

    if without_file_is_revisit(layout):
        return lambda values: _as_revisit(make(values))
    if len(layout.letters) == len(CDX_FIELDS) + len(ORIGINAL_FIELDS):
        return lambda values: make(values)._replace(extra=_originals(values[len(CDX_FIELDS) :]))
    return make


def _as_revisit(row: CdxRow) -> CdxRow:
    """Return a row of a 9-field CDX, where a missing file name tells a revisit."""
    return row._replace(mime=REVISIT) if row.filename == NO_VALUE else row


def _originals(values: Sequence[str]) -> str:
    named = zip(ORIGINAL_FIELDS, values, strict=True)
    known = {name: value for name, value in named if value != NO_VALUE}
    return json.dumps(known) if known else ""


def _of_cdxj(line: str, collection: str) -> CdxRow:
    fields, extra = cdxj_fields(*line.split(" ", 2))
    return CdxRow._make([*fields, collection, json.dumps(extra) if extra else ""])


def extra_fields(row: CdxRow) -> dict[str, str]:
    """Return the further fields of a row."""
    return json.loads(row.extra) if row.extra else {}
