"""One stored record."""

import gzip
import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.values.http import NO_HEAD, Fields, head_end
from nwx.warc.record import Head, Record, UsualHeads, usual_head, warc_head
from tests.unit.warc.stored_files import http, read

BLOCK = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>gone</p>"


def record(kind: str = "response", url: bytes = b"http://a.example/") -> Record:
    made = Record(kind, "WARC/1.1", Fields(b"\nWARC-Target-URI: " + url + b"\r\n"), 7)
    made.block, made.block_length = BLOCK, len(BLOCK)
    return made


def test_the_body_stands_behind_the_http_head() -> None:
    assert record().body() == b"<p>gone</p>"
    assert record().http_head().size == len(BLOCK) - 11


def test_only_what_http_brought_has_a_head() -> None:
    assert record("resource").http_head() is NO_HEAD
    assert record(url=b"dns:a.example").http_head() is NO_HEAD
    assert bytes(record("resource").body()) == BLOCK


def test_digests_of_a_block_that_is_kept() -> None:
    assert record().digest("sha1") == hashlib.sha1(BLOCK).digest()
    assert record().digest("sha256", 5) == hashlib.sha256(BLOCK[5:]).digest()


def test_digests_of_a_block_that_went_by_have_to_be_asked_for() -> None:
    long = record()
    long.block_length += 1
    assert not long.kept_whole
    assert long.digest("sha1") is None
    long.ask("sha1", 0)
    assert long.hashers is not None
    long.hashers["sha1", 0].update(b"x")
    assert long.digest("sha1") == hashlib.sha1(BLOCK + b"x").digest()


PAGE = http(b"<p>hello</p>")
ABOUT = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n"
FILEDESC = b"filedesc://a.arc 0.0.0.0 20200101000000 text/plain %d\n%b" % (len(ABOUT), ABOUT)
URL = "http://example.org/x"
ODD = {
    "a blank in the content type": f"{URL} 1.2.3.4 20000824015105 text/html; Charset=iso-8859-1",
    "blanks in URL and content type": f"{URL}?a=1 2 1.2.3.4 20000824015105 text/html; charset=x",
    "the date before the address": f"{URL} 20031219215023 63.241.16.130 text/plain",
    "text behind the date": f"{URL} None 20160211000000jpg text/html",
    "15 digits": f"{URL} None 201602110000000 text/xml",
    "18 digits": f"{URL} 1.2.3.4 200009180023002953 image/gif",
    "12 digits": f"{URL} 1.2.3.4 200011101120 text/html",
    "no content type": f"{URL} 1.2.3.4 20110804181142 ",
    "a colon that is no port": "http://mhtml:d.example.org/x 1.2.3.4 20071121164820 text/html",
    "a blank in the URL": "http://example.org/a b 1.2.3.4 20071121164820 text/html",
    "an IPv6 address": f"{URL} 2001:db8::1 20071121164820 text/html; charset=utf-8",
    "version 2": f"{URL} 1.2.3.4 20071121164820 text/html 200 0123456789abcdef0123456789abcdef "
    "- 0 a.arc",
}
DATES = {
    "the date before the address": "20031219215023",
    "text behind the date": "20160211000000",
    "18 digits": "20000918002300",
    "12 digits": "20001110112000",
}
PACKED = {
    "gzip": lambda records: b"".join(gzip.compress(record, mtime=0) for record in records),
    "plain": lambda records: b"\n".join(records),
    "plain without newlines": b"".join,
}
packed = pytest.mark.parametrize("packing", PACKED)


def _record(head: str) -> bytes:
    return f"{head} {len(PAGE)}\n".encode() + PAGE


def _between(head: str) -> list[bytes]:
    before, after = (
        _record(f"http://example.org/{n} 1.2.3.4 20200102030405 text/html") for n in (1, 2)
    )
    return [FILEDESC, before, _record(head), after]


@packed
@pytest.mark.parametrize("kind", ODD)
def test_an_odd_head_is_read(kind: str, packing: str) -> None:
    captures, errors = read(PACKED[packing](_between(ODD[kind])))
    assert not errors
    first, odd, last = (found.capture for found in captures)
    assert [first.url[-1], last.url[-1]] == ["1", "2"]
    assert odd.url == ODD[kind].partition(" ")[0] or "%20" in odd.url
    assert odd.timestamp == DATES.get(kind, odd.timestamp)
    assert odd.timestamp.startswith("20")
    assert (odd.status_code, odd.content_length) == (200, len(b"<p>hello</p>"))
    assert captures[1].payload().data == b"<p>hello</p>"


@packed
def test_a_date_without_month_or_day_takes_the_lowest(packing: str) -> None:
    """CDX-Writer has an ARC of 2015 with the date 201512000000000."""
    captures, errors = read(PACKED[packing](_between(f"{URL} None 201512000000000 text/xml")))
    assert not errors
    assert captures[1].capture.timestamp == "20151201000000"


@packed
@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (f"{URL} 130.237.109.120 a0d1fdddf3165d0447b1f7a285c61c1c9 text/html", "date"),
        (f"{URL} 1.2.3.4 20201301000000 text/html; charset=x", "date"),
        ("http://example.org:99999/ 1.2.3.4 20200101000000 text/html; charset=x", "url"),
    ],
)
def test_a_record_without_a_date_or_a_url_is_one_error(head: str, kind: str, packing: str) -> None:
    captures, errors = read(PACKED[packing](_between(head)))
    assert [found.capture.url[-1] for found in captures] == ["1", "2"]
    assert [error.kind for error in errors] == [kind]


def test_a_record_with_an_odd_head_is_found_behind_damage() -> None:
    for head in ODD.values():
        records = [gzip.compress(record, mtime=0) for record in _between(head)]
        records[1] = b"\xff" * 20 + records[1][20:]
        captures, errors = read(b"".join(records))
        assert len(captures) == 2, head
        assert [error.kind for error in errors] == ["gzip"]


def _plain(head: Head | None) -> tuple[str, int | None, int, list[bytes]] | None:
    names = (b"warc-type", b"warc-date", b"content-length", b"x", b"warc-target-uri")
    return head and (head.kind, head.length, head.size, [head.fields.get(name) for name in names])


ENDS = st.sampled_from((b"\r\n",) * 8 + (b"\n",))
LINES = st.lists(
    st.sampled_from(
        (
            b"WARC/1.0", b"WARC/0.18", b"WARC/1.1 ", b"WARC/12", b"Content-Length: 12",
            b"content-length:7", b"WARC-Type: Response", b"WARC-Type : request", b" folded",
            b"\tfolded", b"", b" ", b"X: WARC/1.0", b"X", b"x:\xff: \x00", b"WARC-Date: 2020\rX: 1",
            b"Content-Length: 1234567890123456789", b"Content-Length: \xb2", b":",
        )
    ),
    max_size=7,
)  # fmt: skip


@given(st.sampled_from((b"WARC/1.0", b"WARC/0.17", b"WARC/1.1")), LINES, st.lists(ENDS, min_size=8))
@settings(deadline=None, max_examples=500)
def test_a_usual_head_is_read_as_any_other(
    version: bytes, lines: list[bytes], ends: list[bytes]
) -> None:
    data = b"".join(line + end for line, end in zip([version, *lines], ends, strict=False))
    data += b"\r\n\r\nblock"
    usual = usual_head(data)
    if usual is not None:
        assert _plain(usual) == _plain(warc_head(data, 0, head_end(data)))


@given(LINES, st.lists(LINES, min_size=1, max_size=3), st.lists(ENDS, min_size=8))
@settings(deadline=None, max_examples=300)
def test_a_head_of_a_known_shape_is_read_as_any_other(
    first: list[bytes], others: list[list[bytes]], ends: list[bytes]
) -> None:
    heads = UsualHeads()
    for lines in [first, *others, first, [line + b" x" for line in first], *others]:
        data = b"WARC/1.0\r\n" + b"".join(map(bytes.__add__, lines, ends)) + b"\r\nblock"
        found = heads.head(data)
        if found is not None:
            assert _plain(found) == _plain(warc_head(data, 0, head_end(data)))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"WARC-Date:  2024-05-10T02:04:52Z \t", b"2024-05-10T02:04:52Z"),
        (b"WARC-Date:", b""),
        (b"WARC-Date: \t ", b""),
        (b"WARC-Date: a b", b"a b"),
        (b"WARC-Date: a\r b", b"a\r b"),
        (b"warc-date : a", b"a"),
        (b"WARC-Date: WARC/1.0", None),
        (b"WARC-Date: a\nWARC-Date: b", None),
    ],
)
def test_a_value_is_found_in_a_head_of_a_known_shape(line: bytes, value: bytes | None) -> None:
    heads = UsualHeads()
    start = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5\r\n"
    assert heads.head(start + b"WARC-Date: x\r\n\r\nblock") is not None
    found = heads.head(start + line + b"\r\n\r\nblock")
    assert (None if found is None else found.fields.get(b"warc-date")) == value
    assert found is None or (found.kind, found.length) == ("response", 5)


def test_few_shapes_are_learned() -> None:
    heads = UsualHeads()
    for number in range(200):
        data = b"WARC/1.0\r\nWARC-Type: response\r\nX-%d: a\r\n\r\n" % number
        found = heads.head(data)
        assert found is not None
        assert found.fields.get(b"x-%d" % number) == b"a"


def test_heads_of_the_usual_writers_are_usual() -> None:
    data = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nblock"
    assert usual_head(data) is not None
