"""HTTP headers and bodies in records."""

import gzip
import zlib
from functools import partial

import brotli
import pytest
import zstandard

from nwx.values.codings import dechunk, decode_content
from nwx.values.http import (
    NO_HEAD,
    charset_of,
    decode_body,
    media_type,
    request_head,
    request_method,
    response_head,
)

BODY = b"<p>a body</p>" * 100
MIB = 1 << 20


def _raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


CODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": partial(brotli.compress, quality=5),
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"HTTP/1.1 200 OK", 200),
        (b"HTTP/1.0 404 Not Found", 404),
        (b"HTTP/1.1 302", 302),
        (b"HTTP/2 200", 200),
        (b"ICY 200 OK", 200),
        (b"http/1.1   503 busy", 503),
        (b"HTTP/1.1 999 Request denied", 999),
        (b"HTTP/1.1 0 ", 0),
        (b"HTTP/1.1 HTTP/1.1 200 OK", 200),
        (b"HTTP/1.1 2000 OK", None),
        (b"HTTP/1.1", None),
        (b"HTTP/1.1 OK", None),
        (b"HTTP1.1 200", None),
    ],
)
def test_status_lines_of_all_kinds(line: bytes, status: int | None) -> None:
    block = line + b"\r\nContent-Type: text/html\r\n\r\nbody"
    head = response_head(block)
    assert head.status == status
    assert head.text(b"content-type") == "text/html"
    assert block[head.size :] == b"body"


@pytest.mark.parametrize("block", [b"", b"<html>\r\n\r\n</html>", b"text: of a kind", b"\0\1\2"])
def test_a_block_without_a_head_is_all_body(block: bytes) -> None:
    assert response_head(block) == NO_HEAD


@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
def test_a_head_may_use_either_newline_or_both(newline: bytes) -> None:
    block = newline.join([b"HTTP/1.1 200 OK", b"A: 1", b"B: 2", b"", b"body\r\n\r\nmore"])
    head = response_head(block)
    assert (head.text(b"a"), head.text(b"b")) == ("1", "2")
    assert block[head.size :] == b"body\r\n\r\nmore"


def test_fields_are_found_in_any_case_folded_and_with_blanks_before_the_colon() -> None:
    head = response_head(
        b"HTTP/1.1 200 OK\r\ncontent-TYPE : text/html\r\nX-Long: one\r\n two\r\n\tthree\r\n"
        b"X-Long: second\r\nContent-Type-Options: none\r\nEmpty:\r\nno colon here\r\n\r\n"
    )
    assert head.text(b"content-type") == "text/html"
    assert head.text(b"x-long") == "one two three"
    assert head.text(b"empty") == head.text(b"missing") == head.text(b"content") == ""


def test_a_head_that_never_ends_is_all_head() -> None:
    head = response_head(b"HTTP/1.1 200 OK\r\nA: 1")
    assert (head.size, head.text(b"a")) == (21, "1")


def test_a_head_of_a_hundred_kilobytes_is_read() -> None:
    block = b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000 + b"\r\nB: 2\r\n\r\nbody"
    head = response_head(block)
    assert head.text(b"b") == "2"
    assert block[head.size :] == b"body"


def test_requests_tell_their_method() -> None:
    block = b"post /x HTTP/1.1\r\nContent-Type: text/plain\r\n\r\na=b"
    assert request_method(block) == request_head(block).method == "POST"
    assert block[request_head(block).size :] == b"a=b"
    assert request_method(b"\0") == ""
    assert request_head(b"") == NO_HEAD


def test_content_types_come_apart() -> None:
    assert media_type(" Text/HTML; charset=UTF-8") == "text/html"
    assert media_type("text/html, text/plain") == "text/html"
    assert charset_of("text/html; Charset = 'iso-8859-1' ; x") == "iso-8859-1"
    assert charset_of("text/html") == ""


@pytest.mark.parametrize(
    ("body", "expected", "problem"),
    [
        (b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", b"hello world", ""),
        (b"5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", b"hello", ""),
        (b"0005\nhello\n0\n\n", b"hello", ""),
        (b"0\r\n\r\n", b"", ""),
        (b"<p>not chunked at all</p>", b"<p>not chunked at all</p>", ""),
        (b"", b"", ""),
        (b"5\r\nhel", b"hel", "the last chunk has 3 of 5 bytes"),
        (b"5\r\nhello\r\nworld", b"helloworld", "a broken chunk"),
        (b"5\r\nhello\r\n-1\r\nworld", b"hello-1\r\nworld", "a broken chunk"),
        (b"ffffffffffffffff\r\nx", b"x", "the last chunk has 1 of 18446744073709551615 bytes"),
    ],
)
def test_chunks_are_put_together_as_far_as_they_go(
    body: bytes, expected: bytes, problem: str
) -> None:
    assert dechunk(body, MIB) == (expected, False, problem)


def test_chunks_are_not_put_together_past_the_limit() -> None:
    body = b"4\r\nabcd\r\n" * 100
    assert dechunk(body, 10) == (b"abcdabcdab", True, "")


@pytest.mark.parametrize("coding", CODERS)
def test_content_codings_are_taken_off(coding: str) -> None:
    assert decode_content(coding, CODERS[coding](BODY), MIB) == (BODY, False, "")


def test_deflate_may_come_without_its_head() -> None:
    assert decode_content("deflate", _raw_deflate(BODY), MIB).data == BODY


def test_gzip_may_come_in_several_members() -> None:
    assert decode_content("gzip", gzip.compress(BODY, mtime=0) * 3, MIB).data == BODY * 3


@pytest.mark.parametrize("coding", CODERS)
def test_a_body_only_said_to_be_coded_comes_as_it_is(coding: str) -> None:
    assert decode_content(coding, BODY, MIB) == (BODY, False, "")


@pytest.mark.parametrize("coding", CODERS)
def test_a_bomb_is_cut_at_the_limit(coding: str) -> None:
    bomb = CODERS[coding](b"\0" * 8 * MIB)
    assert len(bomb) < MIB
    decoded = decode_content(coding, bomb, MIB)
    assert (len(decoded.data), decoded.cut) == (MIB, True)


@pytest.mark.parametrize("coding", CODERS)
def test_of_a_broken_body_the_part_before_the_break_is_kept(coding: str) -> None:
    text = b"".join(b"%d, " % number for number in range(100_000))
    coded = CODERS[coding](text)
    decoded = decode_content(coding, coded[: len(coded) // 2], MIB)
    assert 0 < len(decoded.data) < len(text)
    assert text.startswith(decoded.data)


def test_damage_inside_gzip_leaves_what_came_before_and_says_so() -> None:
    text = b"".join(b"%d, " % number for number in range(100_000))
    coded = bytearray(gzip.compress(text, mtime=0))
    coded[len(coded) // 2 : len(coded) // 2 + 40] = b"\xff" * 40
    decoded = decode_content("gzip", bytes(coded), MIB)
    assert decoded.problem
    assert len(decoded.data) > 10_000
    assert decoded.data[:10_000] == text[:10_000]


def test_an_unknown_coding_is_a_problem_and_no_fault() -> None:
    decoded = decode_content("compress", BODY, MIB)
    assert decoded.data == BODY
    assert "compress" in decoded.problem


def test_a_body_in_several_codings_is_decoded_from_the_outside_in() -> None:
    inner = gzip.compress(zlib.compress(BODY), mtime=0)
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner)
    head = response_head(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate, identity, gzip\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    assert decode_body(head, body, MIB) == (BODY, False, "")
    assert decode_body(head, body, 7) == (BODY[:7], True, "")
