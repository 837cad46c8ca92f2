"""Archive files and CDX files with random changes, determined by a seed.

Records of real files are combined in any order; heads get false and hostile
fields; then members, and finally the bytes of the whole file, are damaged.
"""

import gzip
import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

_SHARES = {".warc.gz": 6, ".warc": 3, ".arc": 1, ".arc.gz": 1, ".wacz": 2, ".cdx": 1, ".cdxj": 1}
_SUFFIXES = tuple(_SHARES)
_RECORD = re.compile(rb"^(?=WARC/\d|https?://\S+ \d+\.\d+\.\d+\.\d+ \d{14} )", re.MULTILINE)
_LINE = re.compile(rb"(?<=\n)")
_MOST_BYTES = 40_000
"""The most bytes taken from a record."""
_LENGTH = re.compile(rb"(?i)(content-length: ?)\d+")
_NUMBER = re.compile(rb"\d+")
_NUMBERS = (b"0", b"-1", b"1", b"7", b"99999", b"2147483648", b"9223372036854775808", b"1e3")
_NUMBERS += ("٣".encode(), b"9" * 400, b"0x10", b"+5", b" 12", b"1_0", b"NaN", b"00000000000")
_TEXTS = (
    b"",
    b"\0",
    b"\xff\xfe",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b"%00%ff",
    b"\xed\xa0\x80",
    b"A" * 9000,
)
_TEXTS += (b"http://[::1", b"http://a:99999/", b"data:,", b"dns:x", b"http://\xc3\xa4/\xe2\x80\xae")
_TEXTS += (
    b"urn:uuid:",
    b"../../x",
    b"{",
    b'{"url": "http://a/',
    b"=?utf-8?q?=ff?=",
    b"sha1:",
    b" ",
)
_FIELDS = (b"WARC-Type", b"WARC-Date", b"WARC-Target-URI", b"WARC-Record-ID", b"WARC-Truncated")
_FIELDS += (b"WARC-Payload-Digest", b"WARC-Profile", b"WARC-Refers-To", b"WARC-Segment-Number")
_FIELDS += (
    b"Content-Type",
    b"Content-Length",
    b"Content-Encoding",
    b"Transfer-Encoding",
    b"X" * 99,
)
_VALUES = (
    b"gzip",
    b"br",
    b"deflate",
    b"chunked",
    b"zstd",
    b"identity, gzip",
    b"message/external-body",
)
_VALUES += (
    b"response",
    b"revisit",
    b"continuation",
    b"text/html; charset=utf-16",
    b"application/pdf",
)
_VALUES += (
    b"2015-99-99T99:99:99Z",
    b"0001-01-01T00:00:00Z",
    b"99990101000000",
    b"multipart/x; boundary=",
)


class MutatedFiles:
    """Makes files from originals below folders; these are read once."""

    def __init__(self, folders: Iterable[Path]) -> None:
        found = (path for folder in folders for path in sorted(folder.rglob("*")))
        self._originals: dict[str, list[list[bytes]]] = {}
        for path in found:
            if path.name.endswith(_SUFFIXES) and path.is_file() and (pieces := _pieces(path)):
                suffix = next(suffix for suffix in _SUFFIXES if path.name.endswith(suffix))
                self._originals.setdefault(suffix, []).append(pieces)

    def write(self, seed: int, folder: Path) -> Path:
        """Write the file for a seed and return its path."""
        chance = random.Random(seed)
        kinds = sorted(self._originals)
        (suffix,) = chance.choices(kinds, [_SHARES[kind] for kind in kinds])
        pieces, others = (chance.choice(self._originals[suffix]) for _ in range(2))
        start = chance.randrange(len(pieces))
        chosen = pieces[start : start + chance.randint(1, 12)]
        if chance.random() < 0.3:
            chosen.insert(chance.randint(0, len(chosen)), chance.choice(others))
        packs = suffix.endswith(".gz")
        changed = [_changed(chance, piece) if chance.random() < 0.5 else piece for piece in chosen]
        if suffix == ".wacz":
            changed = [_rezipped(chance, chosen[0])]
        data = b"".join(_packed(chance, piece) if packs else piece for piece in changed)
        for _ in range(chance.choice((0, 0, 1, 1, 2, 4))):
            data = _damaged(chance, data)
        path = folder / f"{seed}{suffix}"
        path.write_bytes(data)
        return path


def _pieces(path: Path) -> list[bytes]:
    """Return the decompressed records or the lines of a file; a WACZ is one piece."""
    data = path.read_bytes()
    if path.suffix == ".wacz":
        return [data] * (len(data) < 300_000)
    if path.suffix == ".gz":
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            try:
                data = stream.read()
            except (OSError, EOFError, zlib.error):
                return []
    pattern = _LINE if path.suffix.startswith(".cdx") else _RECORD
    return [piece[:_MOST_BYTES] for piece in pattern.split(data[: 200 * _MOST_BYTES]) if piece]


def _changed(chance: random.Random, piece: bytes) -> bytes:
    """Return a record with false heads, or a line with false fields."""
    for _ in range(chance.randint(1, 3)):
        piece = chance.choice(_CHANGES)(chance, piece)
    return piece


def _other_length(chance: random.Random, piece: bytes) -> bytes:
    value = chance.choice((*_NUMBERS, b"%d" % chance.randrange(len(piece) * 2 + 1)))
    return _LENGTH.sub(lambda found: found[1] + value, piece, chance.randint(1, 2))


def _other_number(chance: random.Random, piece: bytes) -> bytes:
    places = list(_NUMBER.finditer(piece[:2000]))
    if not places:
        return piece
    place = chance.choice(places)
    return piece[: place.start()] + chance.choice(_NUMBERS) + piece[place.end() :]


def _other_field(chance: random.Random, piece: bytes) -> bytes:
    """Add a field to a head, or a part to a line."""
    value = chance.choice((*_VALUES, *_TEXTS, *_NUMBERS))
    line = chance.choice(_FIELDS) + chance.choice((b": ", b":", b" ")) + value
    lines = piece.split(b"\r\n", 40)
    if len(lines) > 1:
        lines.insert(chance.randrange(1, len(lines)), line * chance.choice((1, 1, 1, 500)))
        return b"\r\n".join(lines)
    return _other_part(chance, piece)


def _other_part(chance: random.Random, piece: bytes) -> bytes:
    """Replace, double or drop a part between two blanks."""
    parts = piece.split(b" ", 30)
    place = chance.randrange(len(parts))
    part = chance.choice((b"", parts[place] * 2, *_TEXTS, *_NUMBERS, *_VALUES))
    return b" ".join((*parts[:place], part, *parts[place + 1 :]))


_CHANGES: tuple[Callable[[random.Random, bytes], bytes], ...]
_CHANGES = (_other_length, _other_number, _other_field, _other_part)


def _packed(chance: random.Random, piece: bytes) -> bytes:
    """Return a gzip member, rarely an abnormal one."""
    member = gzip.compress(piece, chance.choice((1, 6, 9)), mtime=0)
    kind = chance.randrange(24)
    if kind == 0:  # a record split over two members
        cut = chance.randrange(len(piece) + 1)
        return gzip.compress(piece[:cut], mtime=0) + gzip.compress(piece[cut:], mtime=0)
    if kind == 1:  # a wrong checksum or size
        return member[:-8] + struct.pack("<II", chance.getrandbits(32), chance.getrandbits(32))
    if kind == 2:  # head fields that announce more data than there is
        return member[:3] + bytes([chance.randrange(256)]) + member[4:]
    if kind == 3:  # far more decompressed than compressed data
        return gzip.compress(piece + bytes(chance.choice((1, 30)) << 20), 1, mtime=0)
    if kind == 4:
        return piece
    if kind == 5:
        return gzip.compress(member, 1, mtime=0)
    return member


def _damaged(chance: random.Random, data: bytes) -> bytes:
    """Return the bytes with one kind of damage."""
    place = chance.randrange(len(data) + 1)
    size = min(chance.choice((1, 1, 2, 16, 300, 5000)), len(data) - place)
    end = place + size
    some = chance.choice((chance.randbytes(size), bytes(size), data[:size], data[-size:]))
    kind = chance.randrange(7)
    if kind == 0 and size:
        flipped = data[place] ^ (1 << chance.randrange(8))
        return data[:place] + bytes([flipped]) + data[place + 1 :]
    if kind == 1:
        return data[:place]
    if kind == 2:
        return data[place:]
    if kind == 3:
        return data[:place] + some + data[place:]
    if kind == 4:
        return data[:place] + some + data[end:]
    return (
        data[:place] + data[place:end] * 2 + data[end:] if kind == 5 else data[:place] + data[end:]
    )


def _rezipped(chance: random.Random, data: bytes) -> bytes:
    """Return a ZIP file with one entry changed, renamed, duplicated or dropped."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        entries = [(info.filename, old.read(info)) for info in old.infolist()]
        place = chance.randrange(len(entries))
        name, content = entries[place]
        kind = chance.randrange(6)
        names = ("../../x.warc.gz", "/archive/x.warc", "archive/\udcff.warc", "x/", "a" * 3000)
        entries[place] = (
            (name, _changed(chance, content)),
            (name, _damaged(chance, content)),
            (chance.choice(names).encode("utf-8", "replace").decode(), content),
            (name, b""),
            (name + ".gz", gzip.compress(content)),
            (name, content + bytes(8 << 20)),
        )[kind]
        how = chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        for name, content in entries:
            new.writestr(zipfile.ZipInfo(name), content, how)
    return out.getvalue()
