"""Unit tests of stored blocks; what is wrong with records: renders/test_stored_renders.py."""

from pathlib import Path

import pytest

from nwx.errors import FormatError
from nwx.quality.stored_blocks import block_at
from nwx.warc.sources import ArchiveSource

ARC = (
    b"filedesc://a.arc 0.0.0.0 20100101000000 text/plain 75\n"
    b"1 0 x\nURL IP-address Archive-date Content-type Archive-length\n\n\n"
)


def test_the_block_of_an_arc_record(tmp_path: Path) -> None:
    block = b"HTTP/1.0 200 OK\r\n\r\nan image"
    line = b"http://a.example/ 0.0.0.0 20100101000000 image/png %d\n" % len(block)
    path = tmp_path / "a.arc"
    path.write_bytes(ARC + line + block + b"\n")
    source = ArchiveSource(path.name, str(path), None)
    found = block_at(source, len(ARC), 100, "http://a.example/".__eq__)
    assert (found.head.kind, found.block) == ("response", block)
    with pytest.raises(FormatError, match="another record"):
        block_at(source, len(ARC), 100, "http://b.example/".__eq__)
    with pytest.raises(FormatError, match="10 are read") as caught:
        block_at(source, len(ARC), 10, bool)
    assert (caught.value.file, caught.value.offset) == ("a.arc", len(ARC))
