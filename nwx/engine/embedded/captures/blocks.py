"""Captures packed by column: up to 128 in CDX order form a block of two compressed frames.

The lines frame has the fields of CDX lines, the rest frame all others. A frame is a text: its
columns in sequence, each with its values in sequence, or a single value if all are equal.
"""

import json
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import compress, repeat
from typing import Any, NamedTuple

from nwx.captures import DOUBTFUL_TYPES, VALUE_FIELDS
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

`source` is the code of a file; `algorithm` is the common prefix of a block's digests, `digest` the
part after it; `plain` means that the texts can be put into CDX lines unchecked.
"""

REST_FIELDS = (
    *(name for name in VALUE_FIELDS[2:] if name not in LINE_FIELDS),
    "batch",
)
"""The columns of the rest frame; `batch` numbers the captures stored together."""

STORED_FIELDS = (*VALUE_FIELDS[2:], "source", "batch")
"""The columns that are packed and unpacked."""

WRITER_FIELDS = ("source", "batch")
"""The columns that only the writer can assign; all others are converted to texts before."""

_BEFORE = [name for name in LINE_FIELDS[:-3] if name != "algorithm"]
_BEHIND_DIGEST = len(_BEFORE) - _BEFORE.index("digest")

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
"""The columns of numbers; missing ones are None, and "" in the texts of a block."""

_VALUE, _COLUMN, _SAME = "\x1f", "\x1e", "\x1d"
_ODD = _SAME * 2
_PLAIN = f"{_SAME}1"
_SPACES = {ord(one): "-" for one in (_VALUE, _COLUMN, _SAME)}
_PLAIN_SIGNS = bytes((*range(ord("!"), ord("~") + 1), *_SPACES))

BlockColumns = dict[str, Any]
"""Captures as columns by name, each a sequence of values."""

Same = tuple[str | None, ...]
"""The values that all captures of a block share, by column; None where they differ."""


Position = tuple[str, str]
"""A urlkey and a timestamp."""


class BlockError(sqlite3.DatabaseError):
    """A damaged block."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


class BlockTexts(NamedTuple):
    """The columns of a block as texts, without those that the writer assigns (WRITER_FIELDS)."""

    before: str
    after: str
    rest: str


def block_texts(columns: Mapping[str, Sequence[Any]], number: int) -> BlockTexts | None:
    """Return the columns of a block as texts, None if a value contains a separator.

    A column may have a single value, shared by all `number` captures.
    """
    before = [_column_text(columns, name) for name in _BEFORE]
    start, colon, _ = columns["digest"][0].partition(":")
    start, digests = start + colon, before[-_BEHIND_DIGEST]
    if colon and digests.count(_VALUE + start) == digests.count(_VALUE):
        digests = digests.replace(start, "", 1).replace(_VALUE + start, _VALUE)
        before[-_BEHIND_DIGEST] = digests
    else:
        start = ""
    before.insert(-_BEHIND_DIGEST, _SAME + start)
    after = _column_text(columns, LINE_FIELDS[-2])
    rest = [_column_text(columns, name) for name in REST_FIELDS[:-1]]
    lines = _COLUMN.join((*before, after))
    whole = _COLUMN.join((lines, *rest))
    fields = (*before, after, *rest)
    same = sum([one[:1] == _SAME for one in fields])
    inner = (len(fields) - same) * (number - 1)
    found = (whole.count(_SAME), whole.count(_COLUMN), whole.count(_VALUE))
    if found != (same, len(fields) - 1, inner):
        return None
    plain = "1" if _is_plain(lines, columns) else ""
    after = f"{after}{_COLUMN}{_SAME}{plain}"
    return BlockTexts(_COLUMN.join(before), after, _COLUMN.join(rest))


class BlockPacker:
    """Packs blocks, one after the other."""

    def __init__(self) -> None:
        names = zstd.CompressionParameter
        options: dict[int, int] = {names.compression_level: _LEVEL, names.checksum_flag: 1}
        self._compressor = zstd.ZstdCompressor(options=options)

    def packed(
        self, columns: Mapping[str, Sequence[Any]], texts: BlockTexts | None
    ) -> tuple[bytes, bytes]:
        """Return the two frames of a block.

        `columns` has the STORED_FIELDS, only WRITER_FIELDS if there are `texts`. Raises
        UnicodeEncodeError on a text that UTF-8 cannot encode.
        """
        if texts is None:
            columns = {**columns, "algorithm": [""] * len(columns["urlkey"])}
            return self._frame(_odd(columns, LINE_FIELDS[:-1])), self._frame(
                _odd(columns, REST_FIELDS)
            )
        sources, batches = (_column_text(columns, name) for name in WRITER_FIELDS)
        lines = _COLUMN.join((texts.before, sources, texts.after))
        return self._frame(lines), self._frame(f"{texts.rest}{_COLUMN}{batches}")

    def _frame(self, text: str) -> bytes:
        data = text.encode()
        self._compressor.set_pledged_input_size(len(data))
        return self._compressor.compress(data, self._compressor.FLUSH_FRAME)


def _column_text(columns: Mapping[str, Sequence[Any]], name: str) -> str:
    values = columns[name]
    first = values[0]
    if first == values[-1] and values.count(first) == len(values):
        return f"{_SAME}{_shown(first)}"
    if name in NUMBER_FIELDS:
        values = list(map(_shown if None in values else str, values))
    return _VALUE.join(values)


def _odd(columns: Mapping[str, Sequence[Any]], fields: Sequence[str]) -> str:
    return _ODD + json.dumps([list(map(_shown, columns[name])) for name in fields])


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def _is_plain(text: str, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether all lines are of plain HTTP captures, without spaces in their fields."""
    if text.isascii():
        if text.encode().translate(None, _PLAIN_SIGNS):
            return False
    elif " " in text or not text.translate(_SPACES).isprintable():
        return False
    urls = columns["url"]
    if not min(urls) >= "http" or not max(urls) < "httq":
        return False
    types = set(columns["content_type"])
    return not any("warc" in one or one.startswith(DOUBTFUL_TYPES) for one in types)


class Block:
    """A block, whose columns are decoded on demand."""

    def __init__(self, number: int, lines: bytes, rest: bytes | None = None) -> None:
        if number < 1:
            raise BlockError("a block of captures is empty")
        self.number = number
        self._steps: dict[str, int] = {}
        self._same: Same | None = None
        self._texts = _columns(lines, LINE_FIELDS)
        self.is_plain = self._texts.get("plain") == _PLAIN
        if rest is not None:
            self._texts |= _columns(rest, REST_FIELDS)

    def places(self, first: Position, last: Position) -> tuple[int, int]:
        """Return the range of the captures from one position up to, excluding, another."""
        keys = self.column("urlkey")
        begin = self._place_of(keys, *first)
        return begin, max(begin, self._place_of(keys, *last))

    def places_of_url(self, urlkey: str) -> tuple[int, int]:
        """Return the range of the captures of a URL in a plain block, without splitting keys."""
        keys, one = str(self._texts["urlkey"]), f"{urlkey}{_VALUE}"
        if keys[:1] == _SAME:
            return (0, self.number) if keys[1:] == urlkey else (0, 0)
        at = 0 if keys.startswith(one) else keys.find(f"{_VALUE}{one}") + 1
        if not at and not keys.startswith(one):
            is_last = keys.endswith(f"{_VALUE}{urlkey}")
            return (self.number - 1, self.number) if is_last else (0, 0)
        begin = end = keys.count(_VALUE, 0, at)
        while keys.startswith(one, at):
            at, end = at + len(one), end + 1
        end += keys[at:] == urlkey
        if end > self.number:
            raise BlockError(f"a block of captures does not have {self.number} urlkeys")
        return begin, end

    def _place_of(self, keys: Sequence[str], urlkey: str, timestamp: str) -> int:
        """Return the index of the first capture at or after a urlkey and timestamp."""
        place = bisect_left(keys, urlkey)
        if timestamp and place < self.number and keys[place] == urlkey:
            end = bisect_right(keys, urlkey, place)
            place += bisect_left(self.column("timestamp", place, end), timestamp)
        return place

    @property
    def same(self) -> Same:
        """The value that all captures share in each column of LINE_FIELDS, None if they differ."""
        if self._same is None:
            texts = map(self._texts.get, LINE_FIELDS, repeat(_SAME))
            self._same = tuple(
                [one[1:] if isinstance(one, str) and one[:1] == _SAME else None for one in texts]
            )
        return self._same

    def column(self, name: str, begin: int = 0, end: int | None = None) -> Sequence[str]:
        """Return the values of a column, or a range of them, as texts."""
        end = self.number if end is None else end
        found = self._texts.get(name, _SAME)
        if isinstance(found, str):
            if found[:1] == _SAME:
                return [found[1:]] * (end - begin)
            if end - begin < self.number and (step := self._step(name, found)):
                return [found[at : at + step - 1] for at in range(begin * step, end * step, step)]
            if 2 * begin > self.number:  # the end is nearer
                return found.rsplit(_VALUE, self.number - begin)[1 : 1 + end - begin]
            values: Sequence[str] = found.split(_VALUE, end)
        else:
            values = found
        if len(values) < end or (end == self.number and len(values) > end):
            raise BlockError(f"a block of captures has {len(values)} of {self.number} values")
        return values[begin:end] if begin or end < len(values) else values

    def _step(self, name: str, text: str) -> int:
        """Return the distance between values of a column, 0 if their lengths differ."""
        if (known := self._steps.get(name)) is not None:
            return known
        step, odd = divmod(len(text) + 1, self.number)
        if odd or text[step - 1 :: step] != _VALUE * (self.number - 1):
            step = 0
        self._steps[name] = step
        return step


_BLOCKS_KEPT = 2_048


@lru_cache(_BLOCKS_KEPT)
def kept_block(number: int, lines: bytes) -> Block:
    """Return a block without its rest frame; the last ones read are cached, some 20 kB each."""
    return Block(number, lines)


def unpacked_frame(frame: bytes) -> bytes:
    """Return the decompressed data of a frame. Raises BlockError if it is damaged."""
    decoder = zstd.ZstdDecompressor()
    try:
        data = decoder.decompress(frame)
    except (zstd.ZstdError, TypeError) as error:
        raise BlockError(f"a block of captures: {error}") from error
    if not decoder.eof:
        raise BlockError("a block of captures is cut off")
    return data


def _columns(frame: bytes, fields: Sequence[str]) -> dict[str, str | Sequence[str]]:
    """Return the columns of a frame by name; `plain` may be missing."""
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


BEGINNING: Position = ("", "")
END: Position = ("\U0010ffff", "")


def chosen_captures(piece: BlockColumns, which: Sequence[bool]) -> BlockColumns:
    """Return the chosen captures of a piece, {} if none."""
    if all(which):
        return piece
    if not any(which):
        return {}
    return {name: list(compress(values, which)) for name, values in piece.items()}
