"""Pictures and a PDF for the sample site, drawn by arithmetic: equal on every machine."""

import struct
import zlib

_WIDTH, _HEIGHT = 192, 112

# name -> sky above, sky below, water, light: red, green, blue
_SCENES = {
    "harbour": ((24, 28, 72), (226, 120, 84), (30, 52, 92), (255, 232, 150)),
    "factory": ((120, 168, 214), (232, 226, 206), (86, 112, 96), (250, 250, 240)),
    "flood": ((70, 74, 82), (140, 142, 146), (96, 98, 92), (220, 220, 214)),
    "lens": ((10, 14, 26), (40, 66, 92), (18, 30, 44), (200, 255, 236)),
    "meteor": ((6, 6, 20), (30, 24, 66), (10, 18, 40), (160, 255, 160)),
}


def deflate(data: bytes) -> bytes:
    """Return zlib data; the level is fixed so that the bytes are."""
    return zlib.compress(data, 9)


def png(width: int, height: int, rows: list[bytes]) -> bytes:
    """Return a PNG of 24-bit rows."""
    raw = b"".join(b"\0" + row for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", deflate(raw)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def scene(name: str) -> bytes:
    """Return the PNG of a view over the water, in the colours of its name."""
    above, below, water, light = _SCENES[name]
    rows = []
    for y in range(_HEIGHT):
        row = bytearray()
        for x in range(_WIDTH):
            row += bytes(_colour(x, y, above, below, water, light))
        rows.append(bytes(row))
    return png(_WIDTH, _HEIGHT, rows)


def _colour(
    x: int,
    y: int,
    above: tuple[int, int, int],
    below: tuple[int, int, int],
    water: tuple[int, int, int],
    light: tuple[int, int, int],
) -> tuple[int, int, int]:
    horizon = 74
    if (x - 140) ** 2 + (y - 30) ** 2 < 64:
        return light
    if (40 <= x < 48 and 22 <= y < horizon) or (38 <= x < 50 and 16 <= y < 22):
        return light if 17 <= y < 21 else (20, 18, 22)
    if y >= horizon:
        shining = abs(x - 140) < (y - horizon) // 2 + 2 and (x * 7 + y * 3) % 5 == 0
        return light if shining else water
    if y > horizon - 8 - (x * x // 97 + x) % 11 and x % 23 > 3:
        return (28, 26, 30)
    step = y // 6 * 6  # bands, which compress well
    return (
        above[0] + (below[0] - above[0]) * step // horizon,
        above[1] + (below[1] - above[1]) * step // horizon,
        above[2] + (below[2] - above[2]) * step // horizon,
    )


def logo() -> bytes:
    """Return the PNG of a lantern on a dark ground."""
    rows = []
    for y in range(48):
        row = bytearray()
        for x in range(48):
            glow = (x - 24) ** 2 + (y - 26) ** 2
            frame = (abs(x - 24) in {11, 12} and 12 < y < 40) or (
                y in {12, 40} and abs(x - 24) < 12
            )
            ring = 24 <= (x - 24) ** 2 + (y - 7) ** 2 <= 36
            ink = (
                (230, 190, 90) if frame or ring else (255, 236, 170) if glow < 50 else (24, 28, 60)
            )
            row += bytes(ink)
        rows.append(bytes(row))
    return png(48, 48, rows)


def emblem() -> bytes:
    """Return an SVG with a title and a text."""
    return b"""<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 140" role="img">
<title>The emblem of Lantern</title>
<rect width="120" height="140" rx="12" fill="#181c3c"/>
<path d="M40 40h40l8 60H32z" fill="#ffeca8" stroke="#e6be5a" stroke-width="4"/>
<circle cx="60" cy="28" r="10" fill="none" stroke="#e6be5a" stroke-width="4"/>
<text x="60" y="125" font-size="14" text-anchor="middle" fill="#fff">LANTERN 1204</text>
</svg>
"""


def pdf(title: str, author: str, pages: list[list[str]]) -> bytes:
    """Return a PDF of plain lines; `pages` are in Latin-1."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        stream = _pdf_text(lines)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    objects.append(b"<< /Title (%s) /Author (%s) >>" % (_pdf_string(title), _pdf_string(author)))
    return _pdf_file(objects)


def _pdf_text(lines: list[str]) -> bytes:
    shown = b"".join(b"(%s) Tj T*\n" % _pdf_string(line) for line in lines)
    return b"BT /F1 12 Tf 16 TL 60 780 Td\n" + shown + b"ET"


def _pdf_string(text: str) -> bytes:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return escaped.encode("cp1252")


def _pdf_file(objects: list[bytes]) -> bytes:
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        len(objects),
        start,
    )
    return bytes(out)
