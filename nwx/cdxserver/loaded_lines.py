"""Loading and deletion of captures given as CDX lines, as in OutbackCDX."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from itertools import chain

from nwx.captures import CaptureTuple, CaptureValues, capture_of_values, values_of
from nwx.cdx.files import CdxParser, open_cdx, whole_line_blocks
from nwx.cdx.layouts import CDX11, NO_VALUE
from nwx.cdx.rows import (
    CdxRow,
    extra_fields,
    is_revisit_row,
    number_or_none,
    row_is_capture,
    text_or_empty,
)
from nwx.cdxserver.aliases import store_aliases, without_alias_lines
from nwx.cdxserver.plain_captures import plain_capture, plain_values
from nwx.engine.base import Engine
from nwx.engine.indices.change_log import Alias
from nwx.errors import CdxError, EngineBusyError, FormatError, NwxError, SourceError
from nwx.keys import capture_id, check_collection, document_id, document_key
from nwx.model import Capture
from nwx.values.digests import normal_digest
from nwx.values.media_types import normal_type
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import METHODS_WITH_QUERY, urlkey
from nwx.values.urls import clean_url, url_parts

_ERRORS_KEPT = 20
_PLAIN_LAYOUTS = (None, CDX11)
"""Layouts of plain lines; with None, the number of fields determines the layout."""
_METHOD = "__wb_method="
_METHOD_NAME = '"method"'  # in the JSON of a row
_LONGEST_METHOD = 20
_UNKNOWN = "unk"


@dataclass(slots=True)
class Loaded:
    """The counts of loaded lines: all, changed (new or deleted), not captures, bad; first errors.

    `purged` counts the captures that access rules keep out, which are not stored. `failed` has the
    errors of files of which nothing more could be read.
    """

    lines: int = 0
    changed: int = 0
    not_captures: int = 0
    bad_lines: int = 0
    purged: int = 0
    errors: list[CdxError] = field(default_factory=list)
    failed: list[NwxError] = field(default_factory=list)

    def add(self, other: "Loaded") -> None:
        """Add the counts and errors of another file."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        del self.errors[_ERRORS_KEPT:]

    @property
    def useful(self) -> bool:
        """Whether a capture was read, or no error occurred."""
        return bool(self.lines or self.purged) or not (self.bad_lines or self.failed)


def make_ready(engine: Engine) -> None:
    """Create a missing archive, so that queries before the first load succeed."""
    # EngineBusyError: another writer has created it.
    with suppress(EngineBusyError):
        engine.load_captures(())


def load_lines(
    engine: Engine,
    blocks: Iterable[bytes],
    collection: str,
    *,
    skip_bad: bool,
    name: str,
    at_once: int = 0,
) -> Loaded:
    """Store the captures of CDX or CDXJ lines: all, or none if one line is bad.

    `blocks` have one or more whole lines each. With `at_once`, captures are stored and visible in
    batches of that size, rounded up to a block, and batches before a bad line stay.
    Lines of records that are not captures are counted and skipped, with `skip_bad` bad lines too.
    `@alias URL TARGET` lines become aliases of the collection, once all captures are stored.
    `name` is the name of the lines in errors. Raises UsageError on an invalid collection name,
    CdxError on a bad line.
    """
    check_collection(collection)
    loaded, aliases = Loaded(), list[Alias]()
    reading = _Reading(collection, loaded, CdxParser(name), skip_bad=skip_bad)
    blocks = without_alias_lines(blocks, aliases)
    values = chain.from_iterable(map(reading.values, blocks))
    batches = _without_purged(engine, values, loaded)
    if not at_once:
        loaded.changed = engine.load_captures(batches)
    for first in batches if at_once else ():
        further = _first_of(batches, at_once - len(first))
        loaded.changed += engine.load_captures(chain((first,), further))
    store_aliases(engine, collection, aliases)
    loaded.lines += len(aliases)
    return loaded


def _first_of(batches: Iterator[CaptureValues], number: int) -> Iterator[CaptureValues]:
    """Yield batches until they have `number` captures."""
    while number > 0 and (batch := next(batches, None)):
        number -= len(batch)
        yield batch


def load_cdx_files(
    engine: Engine, names: Iterable[str], collection: str, *, strict: bool, at_once: int = 0
) -> Loaded:
    """Store the captures of CDX and CDXJ files; return their counts and errors.

    If `strict`, a bad line is an error of its file, and nothing of the file is stored.
    """
    total = Loaded()
    for name in names:
        try:
            with open_cdx(name) as stream:
                blocks = whole_line_blocks(stream)
                total.add(
                    load_lines(
                        engine, blocks, collection, skip_bad=not strict, name=name, at_once=at_once
                    )
                )
        except SourceError as error:
            total.failed.append(error)
        except CdxError as error:
            message = f"{name} line {error.line}: {error}; nothing of this file was loaded"
            total.failed.append(CdxError(message, name, error.line))
    return total


def unload_lines(
    engine: Engine, blocks: Iterable[bytes], collection: str, *, skip_bad: bool, name: str
) -> Loaded:
    """Delete the captures named by CDX or CDXJ lines; otherwise like `load_lines`.

    Lines of other records are deleted too, as earlier versions loaded them.
    """
    loaded, aliases, deleted = Loaded(), list[Alias](), list[Capture]()
    parser = CdxParser(name)
    blocks = without_alias_lines(blocks, aliases, deleting=True)
    lines = (line for block in blocks for line in block.removesuffix(b"\n").split(b"\n"))
    captures = read_captures(lines, collection, loaded, parser, skip_bad=skip_bad, every=True)
    log = engine.change_log()
    noted = deleted.append if log.is_kept(collection) else _unnoted
    loaded.changed = engine.unload_captures(
        capture_id(collection, one.source_file, one.source_file_offset)
        for one in captures
        if noted(one) is None
    )
    log.add_deleted(deleted, engine.aliases)
    store_aliases(engine, collection, aliases)
    loaded.changed += len(aliases)
    return loaded


def _unnoted(_: Capture) -> None:
    """Ignore a deletion, if no log is kept."""


def read_captures(
    lines: Iterable[bytes],
    collection: str,
    loaded: Loaded,
    parser: CdxParser,
    *,
    skip_bad: bool,
    every: bool = False,
    first: int = 1,
) -> Iterator[Capture]:
    """Yield the captures of lines, and count them; with `every`, other records too.

    `first` is the number of the first line. Raises CdxError on a bad line, unless `skip_bad`.
    """
    for number, line in enumerate(lines, first):
        try:
            if parser.layout in _PLAIN_LAYOUTS and (plain := plain_capture(line, collection)):
                loaded.lines += 1
                yield plain
                continue
            found = parser.parse(line, number)
            if found is None:
                continue
            if every or row_is_capture(found):
                capture = capture_of(found, collection)
                loaded.lines += 1
                yield capture
            else:
                loaded.not_captures += 1
        except CdxError as error:
            placed = error if error.line else CdxError(str(error), parser.file, number)
            if not skip_bad:
                raise placed from error
            loaded.bad_lines += 1
            if len(loaded.errors) < _ERRORS_KEPT:
                loaded.errors.append(placed)


class _Reading:
    """Reads the lines of one collection: plain ones by block, others one by one."""

    def __init__(
        self, collection: str, loaded: Loaded, parser: CdxParser, *, skip_bad: bool
    ) -> None:
        self._collection = collection
        self._loaded = loaded
        self._parser = parser
        self._skip_bad = skip_bad
        self._number = 1

    def values(self, block: bytes) -> Iterator[CaptureValues]:
        """Yield the captures of a block of lines."""
        values, is_plain = CaptureValues(), list[bool]()
        if self._parser.layout in _PLAIN_LAYOUTS:
            values, is_plain = plain_values(block, self._collection)
            if all(is_plain):
                self._number += len(values)
                self._loaded.lines += len(values)
                yield values
                return
        rows = self._beside_others(block.removesuffix(b"\n").split(b"\n"), values.rows, is_plain)
        if held := list(rows):
            yield CaptureValues(held)

    def _beside_others(
        self, lines: list[bytes], rows: Sequence[CaptureTuple], is_plain: Sequence[bool]
    ) -> Iterator[CaptureTuple]:
        """Yield the captures of lines; `rows` has the captures of plain lines (`is_plain`).

        After a header among the lines, all following lines are parsed one by one.
        """
        number, self._number = self._number, self._number + len(lines)
        following = iter(rows)
        done = 0
        for place, plain in enumerate(is_plain):
            done = place + 1
            if plain:
                self._loaded.lines += 1
                yield next(following)
                continue
            yield from self._one_by_one(lines[place:done], number + place)
            if self._parser.layout not in _PLAIN_LAYOUTS:
                break
        yield from self._one_by_one(lines[done:], number + done)

    def _one_by_one(self, lines: list[bytes], number: int) -> Sequence[CaptureTuple]:
        found = read_captures(
            lines,
            self._collection,
            self._loaded,
            self._parser,
            skip_bad=self._skip_bad,
            first=number,
        )
        return values_of(found)


def _without_purged(
    engine: Engine, batches: Iterator[CaptureValues], loaded: Loaded
) -> Iterator[CaptureValues]:
    rules = engine.access_index().rules()
    if rules.purges_nothing:
        yield from batches
        return
    for batch in batches:
        kept = [row for row in batch.rows if not rules.purges(capture_of_values(row))]
        loaded.lines -= len(batch) - len(kept)
        loaded.purged += len(batch) - len(kept)
        yield CaptureValues(kept)


def capture_of(row: CdxRow, collection: str) -> Capture:
    """Return the capture of a checked row; its urlkey is computed from the URL.

    Raises CdxError if the row does not identify one record.
    """
    if NO_VALUE in (row.filename, row.offset):
        raise CdxError("the line has no file and offset, which identify a capture")
    if row.filename != _readable(row.filename):
        raise CdxError(f"the file name {row.filename!r} is not valid UTF-8")
    revisit = is_revisit_row(row)
    content_type = "" if revisit else text_or_empty(row.mime).partition(";")[0].lower()
    extra = extra_fields(row) if _METHOD_NAME in row.extra else {}
    try:
        url = clean_url(row.url.encode("utf-8", "surrogateescape"))
        digest = "" if row.digest == NO_VALUE else normal_digest(row.digest)
        key = _key(url, row.urlkey, extra)
        timestamp = normal_timestamp(row.timestamp)
    except FormatError as error:
        raise CdxError(str(error)) from error
    place = url_parts(url)
    return Capture(
        collection=collection,
        source_file=row.filename,
        source_file_offset=int(row.offset),
        record_length=number_or_none(row.length),
        record_type="revisit" if revisit else "response",
        url=url,
        urlkey=key,
        host=place.host,
        domain=place.domain,
        public_suffix=place.public_suffix,
        timestamp=timestamp,
        digest=digest,
        document_id=document_id(document_key(url, digest)) if digest else "",
        status_code=_status(row.status),
        content_type="" if content_type == _UNKNOWN else _readable(content_type),
        content_type_norm=normal_type(content_type, url),
        content_length=None,
        redirect_to=_readable(text_or_empty(row.redirect)),
        method=_method(row.urlkey, extra),
    )


def _status(text: str) -> int | None:
    if text == NO_VALUE:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise CdxError(f"the status {text[:40]!r} is not a number")
    return int(text)


def _key(url: str, urlkey_told: str, extra: Mapping[str, str]) -> str:
    """Return the urlkey of a URL, with the method and body of a POST as in the line."""
    method = extra.get("method", "GET").upper()
    if method in METHODS_WITH_QUERY:
        body = _readable(extra.get("requestBody", ""))
        query = f"{_METHOD}{method}" + (f"&{body}" if body else "")
        return urlkey(f"{url}{'&' if '?' in url else '?'}{query}")
    # CDX has no fields for method and body: only a urlkey of --post-append has them.
    return _readable(urlkey_told) if _METHOD in urlkey_told else urlkey(url)


def _readable(text: str) -> str:
    """Return a text with bytes that are not valid UTF-8 replaced."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _method(urlkey_told: str, extra: Mapping[str, str]) -> str:
    method = extra.get("method", "")
    if not method and _METHOD in urlkey_told:
        method = urlkey_told.partition(_METHOD)[2].partition("&")[0]
    return _readable(method).upper()[:_LONGEST_METHOD] or "GET"
