"""PDF: text, metadata, limits and broken files."""

import os
import re
import signal
import subprocess
import sys
import zlib

import pytest

from nwx.extract import ExtractLimits, extract
from nwx.extract.pdf import PDF_PROCESS
from nwx.model import Extract

LIMITS = ExtractLimits()


def pdf(*pages: str, title: str = "", author: str = "", trailer: str = "") -> bytes:
    """Return a PDF with one line per page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, line in enumerate(pages):
        content = f"BT /F1 12 Tf 60 780 Td ({line}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title {title or '()'} /Author ({author}) >>")
    out, offsets = "%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{item}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
    info = f"<< /Size {size} /Root 1 0 R /Info {len(objects)} 0 R {trailer} >>"
    return f"{out}{info}\nstartxref\n{out.index('xref')}\n%%EOF\n".encode("cp1252")


def read(data: bytes, limits: ExtractLimits = LIMITS) -> Extract:
    return extract(data, url="http://a.example/a.pdf", content_type_norm="pdf", limits=limits)


def test_text_and_metadata() -> None:
    found = read(pdf("The lamps of L\xfcbeck", "burn", title="(A  report)", author="Ada"))
    assert found.content == "The lamps of L\xfcbeck\nburn"
    assert (found.title, found.author) == ("A report", "Ada")
    assert found.problems == ()


def test_pages_are_limited() -> None:
    found = read(pdf("one", "two", "three"), ExtractLimits(pages=2))
    assert found.content == "one\ntwo"
    assert found.problems == ("pages: 3, read 2",)


def bomb(megabytes: int) -> bytes:
    """Return a one-page PDF with `megabytes` of text, compressed by a factor of a thousand."""
    packed = zlib.compress(b"BT /F1 1 Tf " + b"(aaaaaaaaaaaa) Tj " * (megabytes << 16) + b"ET", 9)
    stream = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(packed), packed)
    old = re.compile(rb"<< /Length \d+ >>\nstream\n.*?endstream", re.S)
    return old.sub(lambda _: stream, pdf("here"), count=1)


def test_a_page_that_takes_too_much_memory_is_an_error_and_the_next_is_read() -> None:
    data = bomb(16)
    assert len(data) < 60_000
    found = read(data, ExtractLimits(memory_bytes=256 << 20))
    assert found.content == ""
    assert len(found.problems) == 1
    assert "256 MiB of memory" in found.problems[0]
    assert read(pdf("still here")).content == "still here"


def test_a_page_that_takes_too_long_is_an_error_and_the_next_is_read() -> None:
    found = read(bomb(16), ExtractLimits(seconds=0.3, memory_bytes=4 << 30))
    assert found.problems
    assert found.problems[0].startswith(("pdf: reading took longer", "time: more than"))
    assert read(pdf("still here")).content == "still here"


def test_a_process_that_was_killed_is_replaced() -> None:
    assert read(pdf("one")).content == "one"
    assert PDF_PROCESS.kept is not None
    os.kill(PDF_PROCESS.kept.pid, signal.SIGKILL)
    assert read(pdf("two")).content in ("", "two")
    assert read(pdf("three")).content == "three"


def test_time_is_limited() -> None:
    found = read(pdf("one", "two"), ExtractLimits(seconds=-1))
    assert found.content == ""
    assert found.problems[0].startswith("time:")


def test_metadata_of_half_a_character() -> None:
    assert read(pdf("text", title="<FEFFD800>")).content == "text"


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n",
        b"no pdf at all",
        pdf("x" * 200)[:300],
        pdf("x", trailer="/Encrypt << /Filter /Standard /V 1 /R 2 /O (a) /U (b) /P -1 >>"),
        pdf("x", trailer="/Encrypt << /Filter /Unknown >>"),
    ],
)
def test_broken_or_locked(data: bytes) -> None:
    found = read(data)
    assert found.content == "" or found.content == "x" * 200
    if not found.content:
        assert found.problems[0].startswith("pdf:")


def test_pdfium_is_loaded_when_needed() -> None:
    code = "import sys, nwx.extract; sys.exit('pypdfium2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
