"""Captures packed by column: some hundred in CDX order are a block of two compressed frames.

The lines frame has what a CDX line is made of, the rest frame all else. A frame is a text: the
columns one after the other, each its values one after the other, or once where all are the same.
"""

import json
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from operator import add
from typing import Any

from nwx.captures import VALUE_FIELDS
from nwx.values.zstd import zstd

BLOCK_CAPTURES = 128
_LEVEL = 3

LINE_FIELDS = (
    "urlkey",
    "timestamp",
    "url",
    "record_type",
    "content_type",
    "status_code",
    "algorithm",
    "digest",
    "redirect_to",
    "record_length",
    "source_file_offset",
    "source",
    "method",
    "plain",
)
"""The columns of the lines frame.

`source` is the code of a file; `algorithm` is what the digests of a block all begin with, `digest`
what comes behind it; `plain` says that the texts need no look before they are put into lines.
"""

REST_FIELDS = (
    *(name for name in VALUE_FIELDS[2:] if name not in LINE_FIELDS),
    "batch",
)
"""The columns of the rest frame; `batch` numbers what was stored together."""

STORED_FIELDS = (*VALUE_FIELDS[2:], "source", "batch")
"""The columns that are packed, and that come out again."""

NUMBER_FIELDS = frozenset(
    (
        "source_file_offset",
        "record_length",
        "status_code",
        "content_length",
        "source",
        "batch",
    )
)
"""The columns of numbers, which may lack some: these are None, and "" in the texts of a block."""

_VALUE, _COLUMN, _SAME = "\x1f", "\x1e", "\x1d"
_ODD = _SAME * 2
_SPACES = {ord(one): "-" for one in (_VALUE, _COLUMN, _SAME)}

BlockColumns = dict[str, Any]
"""Captures by the names of their columns, each a sequence of values."""


class BlockError(sqlite3.DatabaseError):
    """A block that is not as it was written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


class BlockPacker:
    """What packs one block after the other."""

    def __init__(self) -> None:
        names = zstd.CompressionParameter
        options: dict[int, int] = {names.compression_level: _LEVEL, names.checksum_flag: 1}
        self._compressor = zstd.ZstdCompressor(options=options)

    def packed(self, columns: Mapping[str, Sequence[Any]]) -> tuple[bytes, bytes]:
        """Return the two frames of a block: STORED_FIELDS of some captures.

        Raises UnicodeEncodeError where UTF-8 cannot hold a text.
        """
        columns = dict(columns)
        columns["algorithm"], columns["digest"] = _cut_digests(columns["digest"])
        number = len(columns["urlkey"])
        lines = _text(columns, LINE_FIELDS[:-1], number)
        plain = "1" if _is_plain(lines, columns) else ""
        rest = _text(columns, REST_FIELDS, number)
        return self._frame(_appended(lines, plain)), self._frame(rest)

    def _frame(self, text: str) -> bytes:
        data = text.encode()
        self._compressor.set_pledged_input_size(len(data))
        return self._compressor.compress(data, self._compressor.FLUSH_FRAME)


def _cut_digests(digests: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return what all digests begin with, up to a colon, and the digests without it."""
    algorithm, colon, _ = digests[0].partition(":")
    start = algorithm + colon
    ends = _VALUE.join(digests).removeprefix(start).split(_VALUE + start)
    if not colon or len(ends) < len(digests) or any(_VALUE in one for one in ends):
        return [""] * len(digests), digests
    return [start] * len(digests), ends


def _text(columns: Mapping[str, Sequence[Any]], fields: Sequence[str], number: int) -> str:
    texts, same = [], 0
    for name in fields:
        values = columns[name]
        if values[0] == values[-1] and values.count(values[0]) == number:
            values, same = values[:1], same + 1
            start = _SAME
        else:
            start = ""
        if name in NUMBER_FIELDS:
            values = ["" if value is None else str(value) for value in values]
        texts.append(start + _VALUE.join(values))
    text = _COLUMN.join(texts)
    inner = (len(fields) - same) * (number - 1)
    found = (text.count(_SAME), text.count(_COLUMN), text.count(_VALUE))
    if found == (same, len(fields) - 1, inner):
        return text
    held = [[_shown(value) for value in columns[name]] for name in fields]
    return _ODD + json.dumps(held)


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def _appended(text: str, value: str) -> str:
    """Return a text with a further column whose values are the same."""
    if text.startswith(_ODD):
        return text  # what needs this form is not plain
    return f"{text}{_COLUMN}{_SAME}{value}"


def _is_plain(text: str, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether all lines are those of captures, without blanks in their fields."""
    if text.startswith(_ODD) or " " in text or not text.translate(_SPACES).isprintable():
        return False
    urls = columns["url"]
    if not min(urls) >= "http" or not max(urls) < "httq":
        return False
    return not any("warc" in one or one.startswith("arc/") for one in set(columns["content_type"]))


class Block:
    """A block, taken apart column by column as these are asked for."""

    def __init__(self, number: int, lines: bytes, rest: bytes | None = None) -> None:
        if number < 1:
            raise BlockError("a block of captures has none")
        self.number = number
        self._texts = _columns(lines, LINE_FIELDS)
        if rest is not None:
            self._texts |= _columns(rest, REST_FIELDS)

    def place_of(self, keys: Sequence[str], urlkey: str, timestamp: str) -> int:
        """Return the place of the first capture, by its urlkey and timestamp, not before others."""
        place = bisect_left(keys, urlkey)
        if timestamp and place < self.number and keys[place] == urlkey:
            end = bisect_right(keys, urlkey, place)
            place += bisect_left(self.column("timestamp", place, end), timestamp)
        return place

    def column(self, name: str, begin: int = 0, end: int | None = None) -> Sequence[str]:
        """Return the values of a column, or some of them, all of them texts."""
        end = self.number if end is None else end
        found = self._texts.get(name, _SAME)
        if isinstance(found, str):
            if found[:1] == _SAME:
                return [found[1:]] * (end - begin)
            if end - begin < self.number and (
                some := _of_one_width(found, begin, end, self.number)
            ):
                return some
            values: Sequence[str] = found.split(_VALUE, end)
        else:
            values = found
        if len(values) < end or (end == self.number and len(values) > end):
            raise BlockError(f"a block of captures has {len(values)} of {self.number} values")
        return values[begin:end] if begin or end < len(values) else values


def _of_one_width(text: str, begin: int, end: int, number: int) -> Sequence[str]:
    """Return some of the values of a column, () where these are not all of one length."""
    step, odd = divmod(len(text) + 1, number)
    if odd or text[step - 1 :: step] != _VALUE * (number - 1):
        return ()
    return [text[place * step : (place + 1) * step - 1] for place in range(begin, end)]


_BLOCKS_KEPT = 1_536


@lru_cache(_BLOCKS_KEPT)
def kept_block(number: int, lines: bytes) -> Block:
    """Return a block without its rest; those that were read last are kept, some 20 kB each."""
    return Block(number, lines)


def unpacked_frame(frame: bytes) -> bytes:
    """Return what is packed in a frame. Raises BlockError if it is damaged."""
    decoder = zstd.ZstdDecompressor()
    try:
        data = decoder.decompress(frame)
    except (zstd.ZstdError, TypeError) as error:
        raise BlockError(f"a block of captures: {error}") from error
    if not decoder.eof:
        raise BlockError("a block of captures is cut off")
    return data


def _columns(frame: bytes, fields: Sequence[str]) -> dict[str, str | Sequence[str]]:
    """Return the columns of a frame by their names; `plain` may be missing."""
    found: Sequence[str | Sequence[str]]
    data = unpacked_frame(frame)
    try:
        text = data.decode()
        if text.startswith(_ODD):
            found = [list(map(str, values)) for values in json.loads(text[len(_ODD) :])]
        else:
            found = text.split(_COLUMN)
    except (ValueError, TypeError) as error:
        raise BlockError(f"a block of captures: {error}") from error
    if len(found) < len(fields) - ("plain" in fields) or len(found) > len(fields):
        raise BlockError(f"a block of captures has {len(found)} of {len(fields)} columns")
    return dict(zip(fields, found, strict=False))


Position = tuple[str, str]
"""A urlkey and a timestamp."""

BEGINNING: Position = ("", "")
END: Position = ("\U0010ffff", "")

_NAMES = "SELECT code, collection, name FROM sources WHERE code IN ({})"
_NAMES_AT_ONCE = 500
_NAMES_KEPT = 200_000


FileNames = dict[str, tuple[str, ...]]
"""Collections and names of files by their codes."""


class BlockPart(BlockColumns):
    """The captures of a block between two positions, column by column as these are asked for."""

    def __init__(
        self,
        db: sqlite3.Connection,
        block: Block,
        first: Position = BEGINNING,
        last: Position = END,
    ) -> None:
        self._db, self._block = db, block
        keys = block.column("urlkey")
        self._begin = block.place_of(keys, *first)
        self._end = max(self._begin, block.place_of(keys, *last))
        self["urlkey"] = keys[self._begin : self._end]

    def __bool__(self) -> bool:
        return self._end > self._begin

    def chosen(self, which: Sequence[bool], fields: Iterable[str]) -> BlockColumns:
        """Return some of the captures, {} if there are none; other columns are not read as far."""
        if not any(which):
            return {}
        first, last = which.index(True), len(which) - which[::-1].index(True)
        if last - first < len(which):
            self._begin, self._end = self._begin + first, self._begin + last
            held = {name: values[first:last] for name, values in self.items()}
            self.clear()
            self.update(held)
        return chosen_captures({name: self[name] for name in fields}, which[first:last])

    def __missing__(self, name: str) -> Sequence[Any]:
        if name in ("collection", "source_file"):
            found = self._names(name == "source_file")
        elif name in ("digest", "bare_digest"):
            found = self._digests(bare=name == "bare_digest")
        else:
            found = self._block.column(name, self._begin, self._end)
        self[name] = found
        return found

    def _digests(self, *, bare: bool) -> Sequence[str]:
        digests = self._block.column("digest", self._begin, self._end)
        if not bare:
            return list(map(add, self["algorithm"], digests))
        if all(self["algorithm"]):
            return digests
        return [one[one.find(":") + 1 :] for one in digests]

    def _names(self, place: int) -> Sequence[str]:
        sources = self["source"]
        known: FileNames | None = getattr(self._db, "names", None)
        try:
            return [(known or {})[code][place] for code in sources]
        except KeyError:  # other threads may forget them at any moment
            names = _file_names(self._db, set(sources), known)
        try:
            return [names[code][place] for code in sources]
        except KeyError as error:
            raise BlockError(f"captures are of a file that is missing: {error}") from error


def _file_names(db: sqlite3.Connection, codes: set[str], known: FileNames | None) -> FileNames:
    """Return collection and name of files, and keep them with those that are known."""
    found = {code: name for code in codes if (name := (known or {}).get(code))}
    missing = sorted(codes - found.keys())
    for begin in range(0, len(missing), _NAMES_AT_ONCE):
        some = ",".join(map(str, map(int, missing[begin : begin + _NAMES_AT_ONCE])))
        for code, *name in db.execute(_NAMES.format(some)):
            found[str(code)] = tuple(name)
    if known is not None:
        if len(known) > _NAMES_KEPT:
            known.clear()
        known.update(found)
    return found


def chosen_captures(piece: BlockColumns, which: Sequence[bool]) -> BlockColumns:
    """Return some of the captures of a piece, {} if there are none."""
    if all(which):
        return piece
    if not any(which):
        return {}
    return {name: list(compress(values, which)) for name, values in piece.items()}
