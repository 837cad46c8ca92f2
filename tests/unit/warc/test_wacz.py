"""WARCs inside WACZ files, hostile ones among them."""

import io
import struct
import zipfile

import pytest

from nwx.errors import SourceError
from nwx.model import ReadError
from nwx.warc.wacz import WaczMember, open_member, wacz_members

WARC = b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"


def _wacz(*names: str, method: int = zipfile.ZIP_STORED, data: bytes = WARC) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("datapackage.json", "{}")
        for name in names:
            archive.writestr(name, data)
    return out.getvalue()


def _members(data: bytes) -> list[WaczMember | ReadError]:
    return list(wacz_members(io.BytesIO(data), "a.wacz"))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_warcs_are_found_by_name_and_read(method: int) -> None:
    data = _wacz("archive/b.warc.gz", "archive/a.warc", "indexes/x.cdx", method=method)
    size = len(WARC)
    assert _members(data) == [
        WaczMember("archive/a.warc", size),
        WaczMember("archive/b.warc.gz", size),
    ]
    outer = io.BytesIO(data)
    with open_member(outer, "archive/a.warc") as inner:
        assert inner.seekable()
        assert inner.read(4) == b"WARC"
        inner.seek(0)
        assert inner.read() == WARC
    assert outer.closed


@pytest.mark.parametrize(
    "name",
    ["../archive/a.warc", "archive/../../etc/a.warc", "/archive/a.warc", "x/archive/a.warc",
     "archive/..\\a.warc"],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_an_error(name: str) -> None:
    (error,) = _members(_wacz(name))
    assert isinstance(error, ReadError)
    assert error.kind == "wacz"


def test_of_two_entries_of_one_name_the_first_is_read() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = _wacz("archive/a.warc", "archive/a.warc")
    first, second = _members(data)
    assert first == WaczMember("archive/a.warc", len(WARC))
    assert isinstance(second, ReadError)


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x05\x06" + b"\0" * 18, b"no zip at all", _wacz()[:-30], _wacz("archive/a.txt")],
)
def test_what_is_no_wacz_is_one_error(data: bytes) -> None:
    (error,) = _members(data)
    assert isinstance(error, ReadError)
    assert (error.file, error.kind) == ("a.wacz", "wacz")


def test_a_lying_size_is_an_error() -> None:
    data = _wacz("archive/a.warc", method=zipfile.ZIP_DEFLATED)
    real = struct.pack("<I", len(WARC))
    assert data.count(real) >= 2
    (error,) = _members(data.replace(real, struct.pack("<I", 1 << 30)))
    assert isinstance(error, ReadError)
    assert "cannot unpack" in error.message


def test_entries_that_share_their_bytes_are_errors() -> None:
    data = _wacz("archive/a.warc", "archive/b.warc")
    start = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", data.index(b"archive/a.warc", start))
    second = data.index(b"archive/b.warc", second) - 46
    place = second + 42  # the offset of the local header
    data = data[:place] + data[second - 60 + 42 : second - 60 + 46] + data[place + 4 :]
    assert all(isinstance(found, ReadError) for found in _members(data))


def test_an_encrypted_entry_is_an_error() -> None:
    data = bytearray(_wacz("archive/a.warc"))
    flags = data.index(b"archive/a.warc", data.index(b"PK\x01\x02")) - 46 + 8
    data[flags] |= 1
    (error,) = _members(bytes(data))
    assert isinstance(error, ReadError)
    assert error.message == "it is encrypted"


def test_a_member_that_is_not_there_cannot_be_opened() -> None:
    with pytest.raises(SourceError, match=r"archive/b\.warc"):
        open_member(io.BytesIO(_wacz("archive/a.warc")), "archive/b.warc")
