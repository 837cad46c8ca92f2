"""WARCs in WACZ files, including hostile ones."""

import gzip
import hashlib
import io
import json
import random
import struct
import zipfile
from typing import Any, BinaryIO, NamedTuple

import pytest

from nwx.errors import FormatError, SourceError
from nwx.model import ReadError
from nwx.warc.reader import ArchiveReader
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


def _found(data: bytes) -> list[WaczMember]:
    found = _members(data)
    assert not [error for error in found if isinstance(error, ReadError)]
    return [member for member in found if isinstance(member, WaczMember)]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_warcs_are_found_by_name_and_read(method: int) -> None:
    data = _wacz("archive/b.warc.gz", "archive/a.warc", "indexes/x.cdx", method=method)
    size = len(WARC)
    assert [(found.name, found.size) for found in _found(data)] == [
        ("archive/a.warc", size),
        ("archive/b.warc.gz", size),
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


def test_of_two_entries_of_one_name_the_last_is_read() -> None:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        for content in (b"first", WARC):
            archive.writestr("archive/a.warc", content)
    error, member = _members(out.getvalue())
    assert isinstance(error, ReadError)
    assert "same name" in error.message
    assert isinstance(member, WaczMember)
    for places in (member.places, ()):
        with open_member(io.BytesIO(out.getvalue()), member.name, places) as inner:
            assert inner.read() == WARC


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x05\x06" + b"\0" * 18, b"no zip at all", _wacz()[:-30], _wacz("archive/a.txt")],
    ids=[
        "nothing",
        "no entries",
        "no zip",
        "cut off",
        "no archive file",
    ],  # ZIP files contain the time
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


# A WACZ in a WACZ, which Browsertrix creates for several crawls.


def _packed(entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("outer", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("inner", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_warcs_of_a_wacz_in_a_wacz_are_read(outer: int, inner: int) -> None:
    first = _packed({"archive/a.warc": WARC, "archive/b.warc": WARC * 2}, inner)
    second = _packed({"archive/a.warc": WARC * 3}, inner)
    both = _packed({"x.wacz": first, "y.wacz": second}, outer)
    data = _packed({"datapackage.json": b"{}", "both.wacz": both, "z.wacz": second}, outer)
    found = _found(data)
    assert [(member.name, member.size) for member in found] == [
        ("both.wacz#x.wacz#archive/a.warc", len(WARC)),
        ("both.wacz#x.wacz#archive/b.warc", 2 * len(WARC)),
        ("both.wacz#y.wacz#archive/a.warc", 3 * len(WARC)),
        ("z.wacz#archive/a.warc", 3 * len(WARC)),
    ]
    for member in found:
        for places in (member.places, ()):
            handle = io.BytesIO(data)
            with open_member(handle, member.name, places) as stream:
                assert stream.read() == WARC * ((member.size or 0) // len(WARC))
                stream.seek(5)
                assert stream.read(3) == WARC[5:8]
            assert handle.closed


def test_wacz_in_each_other_have_a_bound() -> None:
    data = _packed({"archive/a.warc": WARC})
    for _ in range(10):
        data = _packed({"in.wacz": data})
    (error,) = _members(data)
    assert isinstance(error, ReadError)
    assert "unpack" in error.message
    with pytest.raises(SourceError):
        open_member(io.BytesIO(data), "in.wacz#" * 20 + "archive/a.warc")


def test_a_damaged_wacz_in_a_wacz_costs_no_other() -> None:
    good = _packed({"archive/a.warc": WARC})
    error, member = _members(_packed({"a.wacz": b"no zip", "b.wacz": good}))
    assert isinstance(error, ReadError)
    assert error.file == "a.wacz#a.wacz"
    assert isinstance(member, WaczMember)
    assert member.name == "b.wacz#archive/a.warc"


def test_files_that_a_package_names_and_that_are_not_there_are_told() -> None:
    told = {
        "profile": "multi-wacz-package",
        "resources": [
            {"path": "archive/a.warc"},
            {"path": "archive/gone.warc.gz"},
            {"url": "https://example.org/other.wacz"},
            {"path": "pages/pages.jsonl"},
            "no object", {"path": 3}, {},
        ],
    }  # fmt: skip
    entries = {"datapackage.json": json.dumps(told).encode(), "archive/a.warc": WARC}
    error, member = _members(_packed(entries))
    assert isinstance(member, WaczMember)
    assert isinstance(error, ReadError)
    assert error.message.startswith("2 files that its datapackage.json names are not in it")
    assert "https://example.org/other.wacz" in error.message


@pytest.mark.parametrize(
    ("package", "kind"),
    [
        (b'{"resources": 1}', ""),
        (b"[]", ""),
        (b"", ""),
        (b'{"resources": [{"path": "archive/a.warc", "hash": "md9:x"}]}', ""),
        (b"{", "wacz"),
        (b"\xff\xfe", "wacz"),
        (b"[" * 100_000, "wacz"),
    ],
)
def test_an_odd_package_costs_no_warc(package: bytes, kind: str) -> None:
    data = _packed({"datapackage.json": package, "archive/a.warc": WARC})
    *errors, member = _members(data)
    assert isinstance(member, WaczMember)
    assert [error.kind for error in errors if isinstance(error, ReadError)] == [kind][: len(kind)]


def test_a_package_that_was_changed_is_told() -> None:
    package = b'{"resources": []}'
    told = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
    entries = {
        "datapackage.json": package,
        "datapackage-digest.json": json.dumps(told).encode(),
        "archive/a.warc": WARC,
    }
    assert _found(_packed(entries))
    error, _ = _members(_packed(entries | {"datapackage.json": package + b" "}))
    assert isinstance(error, ReadError)
    assert error.kind == "digest"


# Damage.


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_one_wrong_byte_leaves_the_rest_of_a_warc(method: int) -> None:
    content = random.Random(1).randbytes(300_000)
    data = bytearray(_packed({"archive/a.warc": content}, method))
    data[200_000] ^= 1
    with open_member(io.BytesIO(bytes(data)), "archive/a.warc") as stream:
        found = stream.read(len(content))
    assert found[:150_000] == content[:150_000]
    assert method == zipfile.ZIP_DEFLATED or found[-50_000:] == content[-50_000:]


def test_compressed_bytes_are_given_up_to_where_they_are_damaged() -> None:
    content = b"".join(b"line %d\n" % number for number in range(50_000))
    data = bytearray(_packed({"archive/a.warc": content}, zipfile.ZIP_DEFLATED))
    middle = data.index(b"archive/a.warc") + len(data) // 2
    data[middle : middle + 200] = b"\xff" * 200
    (member,) = _found(bytes(data))
    with open_member(io.BytesIO(bytes(data)), member.name, member.places) as stream:
        pieces = []
        with pytest.raises(FormatError, match="damaged in its zip file"):
            while piece := stream.read(10_000):
                pieces.append(piece)
        got = b"".join(pieces)
        assert got.startswith(content[: len(content) // 3])
        stream.seek(0)
        assert stream.read(100) == content[:100]


@pytest.mark.parametrize("spot", [0, 2, 6, 14, 20, 26, 27, 28, 29])
def test_a_damaged_head_of_an_entry_costs_nothing(spot: int) -> None:
    data = bytearray(_packed({"datapackage.json": b"{}", "archive/a.warc": WARC}))
    data[data.index(b"archive/a.warc") - 30 + spot] ^= 0x41
    (member,) = _found(bytes(data))
    with open_member(io.BytesIO(bytes(data)), member.name, member.places) as stream:
        assert stream.read() == WARC


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("cut", ["the directory", "half of the last entry"])
def test_warcs_are_found_where_the_directory_is_cut_off(
    method: int, streamed: bool, cut: str
) -> None:
    contents = [WARC + random.Random(n).randbytes(20_000) for n in range(3)]
    out: Any = _Unseekable() if streamed else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"archive/{number}.warc", content)
    data = out.getvalue()
    end = data.index(b"PK\x01\x02")
    error, *members = _members(data[: end if cut == "the directory" else end - 10_000])
    assert isinstance(error, ReadError)
    assert "3 entries were found" in error.message
    for member, content in zip(members, contents, strict=True):
        assert isinstance(member, WaczMember)
        with open_member(io.BytesIO(data[:end]), member.name, member.places) as stream:
            if content is contents[2] and cut != "the directory":
                assert stream.read(9_000) == content[:9_000]
            else:
                assert stream.read(len(content) + 9) == content


class _Unseekable(io.BytesIO):
    """A stream for writing a ZIP file, which then has sizes after each entry."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise io.UnsupportedOperation("a stream")

    def tell(self) -> int:
        raise io.UnsupportedOperation("a stream")


def test_opening_each_of_many_warcs_reads_no_more_than_them() -> None:
    names = [f"archive/{number:04}.warc" for number in range(600)]
    data = _packed(dict.fromkeys(names, WARC))
    read = 0

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal read
            found = super().read(size)
            read += len(found)
            return found

    for member in _found(data):
        with open_member(Counting(data), member.name, member.places) as stream:
            assert stream.read() == WARC
    assert read < len(data)


@pytest.mark.parametrize("seed", range(150))
def test_chance_damage_to_a_wacz_never_raises(seed: int) -> None:
    chance = random.Random(seed)
    inner = _packed({"archive/c.warc": WARC})
    entries = {
        "archive/a.warc": WARC * 9,
        "archive/b.warc.gz": gzip.compress(WARC, mtime=0),
        "i.wacz": inner,
    }
    data = bytearray(_packed({**entries, "datapackage.json": b"{}"}, (seed % 2) * 8))
    for _ in range(chance.randrange(1, 4)):
        match chance.randrange(3):
            case 0:
                data[chance.randrange(len(data))] = chance.randrange(256)
            case 1:
                del data[chance.randrange(len(data)) :][: chance.randrange(200)]
            case 2:
                place = chance.randrange(len(data))
                data[place : place + 8] = chance.choice([b"\xff" * 8, b"\0" * 8, b"PK\x03\x04" * 2])
    for member in _members(bytes(data)):
        if isinstance(member, WaczMember):
            list(ArchiveReader(_Member(bytes(data), member), "test"))


class _Member(NamedTuple):
    data: bytes
    member: WaczMember
    name: str = "x"

    def open(self) -> BinaryIO:
        return open_member(io.BytesIO(self.data), self.member.name, self.member.places)
