"""Splits members into records, and recovers from damage."""

import re
from collections.abc import Callable, Iterator

from nwx.values.http import head_end
from nwx.warc.members import RECORD_START, Members
from nwx.warc.record import (
    MAX_HEAD_BYTES,
    RECORD_END,
    WARC_MAGIC,
    Head,
    Record,
    UsualHeads,
    arc_head,
    warc_head,
)
from nwx.warc.stored_bytes import RecordFault

_FILLING = re.compile(rb"[\r\n\0]*")
_NEXT_RECORD = re.compile(
    rb"(?<=\n)(?:" + RECORD_START.pattern + rb")|"
    # directly after a truncated record: only unmistakable heads
    rb"(?:https?|ftp)://[^ \r\n]{1,4096} [\d.]{7,15} \d{14} [^ \r\n]{1,100} \d+\r?\n"
)
_NEXT_WARC = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n[A-Za-z-]+[ \t]*:")
_FIRST_RECORD = re.compile(_NEXT_WARC.pattern + b"|" + _NEXT_RECORD.pattern)
_LONGEST_START = 1 << 15
_LONGEST_GAP = 16
_WHOLE_BYTES = 1 << 20
_RESCUE_ALLOWANCE = 1 << 26
_RESCUE_FACTOR = 8


class Scanner:
    """Iterates over the records of an archive file, in order.

    The first `keep_bytes` of a block are kept; for a longer block, `before_rest` is called once
    these are read, to request digests. Damage is skipped and added to `faults`.

    The offset of a record is the stored offset of its member. In a member with several records, the
    later offsets continue in inflated bytes; offsets always increase.
    """

    def __init__(
        self, members: Members, keep_bytes: int, before_rest: Callable[[Record], None]
    ) -> None:
        self.faults: list[RecordFault] = members.faults
        self._members = members
        self._heads = UsualHeads()
        self._keep = keep_bytes
        self._before_rest = before_rest
        self._format = ""
        self._base = 0
        self._last = -1
        self._ahead = False  # the window is already on the next member
        self._gap = b""  # the filling skipped after the last block
        self._passed = 0
        self._rescued = 0

    def __iter__(self) -> Iterator[Record]:
        members = self._members
        next_whole, usual_record, most = members.next_whole, self._heads.record, self._keep
        while True:
            whole = None if self._ahead else next_whole()
            if whole is not None:
                # the case in nearly all files
                self._base = offset = max(members.start, self._last + 1)
                record = usual_record(whole, offset, most)
                if record is not None:
                    record.length = members.end - members.start
                    self._format, self._last = "warc", offset
                    self._passed += len(whole) - len(RECORD_END)
                    yield record
                    continue
                members.take(whole)
            elif not self._ahead and not members.next():
                return
            self._ahead = False
            self._base = max(members.start, self._last + 1)
            record = self._only_record()
            if record is not None:
                yield record
            else:
                yield from self._member()

    def _only_record(self) -> Record | None:
        """Return the record of a member with exactly one WARC record; None otherwise or if unsure.

        Nearly all members have exactly one.
        """
        members = self._members
        if not members.coding or members.pos or not members.data.startswith(WARC_MAGIC):
            return None
        while not members.ended and len(members.data) < _WHOLE_BYTES and members.more():
            pass
        data = members.data
        if not (members.ended and data.endswith(RECORD_END)) or members.broken:
            return None
        head = self._heads.head(data)
        if head is None:
            return None
        end = len(data) - len(RECORD_END)
        if head.length != end - head.size or head.length > self._keep:
            return None
        record = Record(head.kind, "warc", head.fields, self._base)
        record.head = data[: head.size]
        record.block = memoryview(data)[head.size : end]
        record.block_length = head.length
        record.length = members.end - members.start
        self._format, self._last = "warc", self._base
        self._passed += end
        members.pos = end
        return record

    def _member(self) -> Iterator[Record]:
        """Yield the records of a member, or of the members that a single record spans."""
        members = self._members
        stored_start: int | None = members.start if members.coding else None
        more = members.data.startswith(WARC_MAGIC) or self._at_content()
        while more:
            offset = max(self._base + members.inflated + members.pos, self._last + 1)
            if stored_start is not None:
                offset = self._base
            head = self._head()
            if head is None:
                self._fault(offset, "header", "not a WARC or ARC record")
                if self._ahead:
                    return
                members.pos += 1  # otherwise the same position would be found again
                self._pass_over()
                more = self._at_content()
                stored_start = None
                continue
            record = Record(head.kind, self._format, head.fields, offset)
            record.head = members.data[members.pos - head.size : members.pos]
            self._last = offset
            self._read_block(record, head)
            more = not self._ahead and self._to_next(record)
            self._passed += head.size + record.block_length
            record.length = head.size + record.block_length
            if stored_start is not None and not more:
                end = members.start if self._ahead else members.end
                record.length = max(0, end - stored_start)
            stored_start = None
            yield record

    def _at_content(self) -> bool:
        """Skip blank lines and filling; False at the end of the member."""
        members = self._members
        self._gap = b""
        while True:
            found = _FILLING.match(members.data, members.pos)
            if found:
                self._gap = self._gap[-_LONGEST_GAP:] + found[0][-_LONGEST_GAP:]
                members.pos = found.end()
            if members.pos < len(members.data):
                return True
            if not members.more():
                return False

    def _head(self) -> Head | None:
        """Read the head of the record at the current position; None if there is no head."""
        members = self._members
        while True:
            data, pos = members.data, members.pos
            if data.startswith(WARC_MAGIC, pos):
                end = head_end(data, pos)
                if end >= 0:
                    return self._accept("warc", warc_head(data, pos, end))
            else:
                end = data.find(b"\n", pos) + 1
                if end > 0 and len(data) - pos >= len(WARC_MAGIC):
                    return self._accept("arc", arc_head(data[pos:end]))
            if len(data) - pos >= MAX_HEAD_BYTES or not (members.more() or self._join_head()):
                return None

    def _accept(self, fmt: str, head: Head | None) -> Head | None:
        if head is not None:
            self._format = fmt
            self._members.pos += head.size
        return head

    def _read_block(self, record: Record, head: Head) -> None:
        members = self._members
        length = head.length
        if length is None:
            self._fault(
                record.offset, "length", "the Content-Length of the record is missing or invalid"
            )
            self._read_unbounded(record)
        elif length <= len(members.data) - members.pos and length <= self._keep:
            record.block = memoryview(members.data)[members.pos : members.pos + length]
            record.block_length = length
            members.pos += length
        else:
            self._read_long(record, length)

    def _read_long(self, record: Record, length: int) -> None:
        members = self._members
        kept = KeptBlock(record, self._keep, self._before_rest)
        while record.block_length < length:
            if members.pos >= len(members.data) and not members.more() and not self._join():
                break
            piece = members.data[members.pos : members.pos + length - record.block_length]
            members.pos += len(piece)
            kept.add(piece)
        kept.close()
        if record.block_length < length and not members.broken:
            got = record.block_length
            message = f"the block of the record ends after {got} of {length} bytes"
            self._fault(record.offset, "length", message)
            self._gap = b""
            self._rescue(record)

    def _join(self) -> bool:
        """Advance to the next member if it continues this one; some writers split anywhere."""
        members = self._members
        if not members.coding or members.broken or not members.next():
            return False
        if RECORD_START.match(members.data):
            self._ahead = True
            return False
        self._base = max(members.start, self._last + 1)
        return True

    def _join_head(self) -> bool:
        """Join a head cut off by the end of its member with its rest in the next member."""
        members = self._members
        begun = members.data[members.pos :]
        if not self._join():
            return False
        members.data = begun + members.data
        members.inflated = -len(begun)
        return True

    def _read_unbounded(self, record: Record) -> None:
        """Read a block of unknown length, up to the next record."""
        kept = KeptBlock(record, self._keep, self._before_rest)
        for piece in self._until_next():
            kept.add(piece)
        kept.close()
        if record.kept_whole:
            record.block = bytes(record.block).rstrip(b"\r\n")
            record.block_length = len(record.block)

    def _pass_over(self) -> None:
        for _ in self._until_next():
            pass

    def _until_next(self) -> Iterator[bytes]:
        """Yield the bytes before the next recognizable record in the member."""
        members = self._members
        pattern = self._next_pattern()
        while True:
            found = pattern.search(members.data, members.pos)
            stop = found.start() if found else len(members.data) - _LONGEST_START
            if stop > members.pos:
                piece = members.data[members.pos : stop]
                members.pos = stop
                yield piece
            if found:
                return
            if not members.more():
                rest = members.data[members.pos :]
                members.pos = len(members.data)
                yield rest
                return

    def _next_pattern(self) -> re.Pattern[bytes]:
        if self._format == "warc":
            return _NEXT_WARC
        return _NEXT_RECORD if self._format else _FIRST_RECORD

    def _to_next(self, record: Record) -> bool:
        """Advance to the next record in the member; False at the member's end.

        If other bytes than a record follow, the length was wrong.
        """
        members = self._members
        if members.ended and members.data[members.pos :] == RECORD_END:
            return False
        if not self._at_content():
            return False
        if self._record_follows():
            return True
        self._fault(
            record.offset,
            "length",
            "no record follows the block; the Content-Length is wrong, or the file damaged",
        )
        if not self._rescue(record):
            self._pass_over()
        return self._at_content()

    def _record_follows(self) -> bool:
        members = self._members
        while True:
            data, pos = members.data, members.pos
            if data.startswith(WARC_MAGIC, pos):
                return True
            enough = 5 if self._format == "warc" else _LONGEST_START
            if self._format == "arc" and RECORD_START.match(data, pos):
                return True
            if len(data) - pos >= enough:
                return False
            if not members.more():
                return self._begins(data[pos:])

    def _begins(self, rest: bytes) -> bool:
        """Return whether the last bytes of a member may be a record cut off by its end."""
        if not self._members.coding or self._members.broken:
            return False
        return WARC_MAGIC.startswith(rest) or (self._format == "arc" and b"\n" not in rest)

    def _rescue(self, record: Record) -> bool:
        """Recover records from a block whose declared length is too long.

        The total of bytes searched again is bounded by the bytes read, so that a file of wrong
        lengths takes linear time.
        """
        if not record.kept_whole or self._rescued > _RESCUE_ALLOWANCE + (
            _RESCUE_FACTOR * self._passed
        ):
            return False
        self._rescued += record.block_length
        members = self._members
        block = bytes(record.block)
        ahead = self._gap + members.data[members.pos : members.pos + _LONGEST_START]
        found = self._next_pattern().search(block + ahead)
        if found is None or found.start() > len(block):
            return False
        rest = block[found.start() :] + self._gap
        members.inflated = max(0, members.inflated + members.pos - len(rest))
        members.data = rest + members.data[members.pos :]
        members.pos = 0
        record.block = block[: found.start()].rstrip(b"\r\n")
        record.block_length = len(record.block)
        return True

    def _fault(self, offset: int, kind: str, message: str) -> None:
        self.faults.append(RecordFault(offset, kind, message))


class KeptBlock:
    """Collects the first bytes of a long block, piece by piece."""

    def __init__(self, record: Record, most: int, before_rest: Callable[[Record], None]) -> None:
        self._record = record
        self._left = most
        self._before_rest = before_rest
        self._pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        """Add the next bytes of the block."""
        record = self._record
        record.block_length += len(piece)
        rest = piece
        if self._left:
            self._pieces.append(piece[: self._left])
            rest = piece[self._left :]
            self._left -= len(self._pieces[-1])
            if rest:
                self._overflow()
        elif not record.block:
            self._overflow()
        if record.hashers:
            for hasher in record.hashers.values():
                hasher.update(rest)

    def close(self) -> None:
        """Store the kept bytes in the record's block."""
        if not self._record.block:
            self._record.block = b"".join(self._pieces)

    def _overflow(self) -> None:
        self._record.block = b"".join(self._pieces)
        self._pieces.clear()
        self._before_rest(self._record)
