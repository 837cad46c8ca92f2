"""CDX lines that no engine can store, or that are invalid headers, cause readable errors."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx

DIGEST = b"A" * 32
GOOD = (
    b"example,a)/ 20200101000000 http://a.example/ text/html 200 %b - - 500 1 a.warc.gz\n" % DIGEST
)
NO_UTF8 = (
    GOOD.replace(b" 1 a.warc.gz", b" 2 b\xff.warc.gz"),
    GOOD.replace(b" 1 a.warc.gz", b" 3 \xe9.warc.gz"),
)
READABLE = (
    GOOD.replace(b"text/html", b"text/h\xe9").replace(b" 1 ", b" 4 "),
    GOOD.replace(b" - - 500 1 ", b" http://a.example/\xe9 - 500 5 "),
    GOOD.replace(b"http://a.example/", b"http://a.example/\xe9").replace(b" 1 ", b" 6 "),
    b'example,a)/ 20200101000000 {"url": "http://a.example/\\ud800", "digest": "%b", "method":'
    b' "POST", "requestBody": "\\udfff", "offset": "7", "filename": "a\\ud800.warc.gz"}\n' % DIGEST,
    b"example,a)/\xff?__wb_method=post 20200101000000 http://a.example/ text/html 200 %b - - 500"
    b" 8 a.warc.gz\n" % DIGEST,
)
HEADERS = (
    b" CDX\xe9N\xe9b\xe9a\xe9m\xe9s\xe9k\xe9r\xe9M\xe9S\xe9V\xe9g\n",
    b"\xe9CDX\xe9N\xe9b\xe9a\n",
    b" CDX N b a m s k r M S V \xe9\n",
)
COMMANDS = (
    ("cdx-load",),
    ("dedup-cdx",),
    ("revisits",),
    ("savings",),
    ("add-dates",),
    ("check", "--cdx"),
)


def test_file_names_that_are_no_utf8_are_bad_lines(nwx: Nwx, tmp_path: Path) -> None:
    path = tmp_path / "a.cdx"
    path.write_bytes(b"".join((*NO_UTF8, GOOD, *READABLE)))
    refused = nwx("cdx-load", "--strict", path, code=1)
    assert "line 1: the file name 'b" in refused.err
    told = nwx("cdx-load", "--json", path).json
    assert (told["captures"], told["new"], told["bad_lines"]) == (1 + len(READABLE),) * 2 + (2,)
    nwx("check", "--cdx", path, code=1)


@pytest.mark.parametrize("header", HEADERS)
def test_headers_with_bytes_beyond_ascii_are_bad_lines(
    nwx: Nwx, tmp_path: Path, header: bytes
) -> None:
    path = tmp_path / "a.cdx"
    path.write_bytes(header + GOOD)
    for command in COMMANDS:
        code = 1 if command[0] == "check" else 0
        err = nwx(*command, path, code=code).err
        assert "a.cdx" in err
        assert "Traceback" not in err
    assert "1 that cannot be read" in nwx("zipnum", "build", tmp_path / "out", path).out


def test_a_list_with_nothing_but_an_impossible_date(nwx: Nwx, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_bytes(b"20101399999999 sha1:%b http://a.example/\n" % DIGEST)
    for command in COMMANDS:
        ran = nwx(*command, path, code=1)
        assert "list" in ran.err
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>", "a/b", "x" * 5_000, "", " "])
def test_no_command_makes_a_collection_of_such_a_name(nwx: Nwx, tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.cdx"
    path.write_bytes(GOOD)
    for command in ("import", "cdx-load", "add-dates"):
        ran = nwx(command, "--collection", name, path, code=2)
        assert "not a valid collection name" in ran.err
        assert len(ran.err) < 500
