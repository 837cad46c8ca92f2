"""Transfer and content codings, with bodies that are truncated, malformed or oversized."""

import gzip
import hashlib
import zlib

import pytest
import zstandard

from nwx.values.codings import Decoded, UnchunkedHash, dechunk, decode_content, salvage

TEXT = b"The harbour light burns all night. " * 100


def _raw_deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


@pytest.mark.parametrize(
    ("body", "decoded"),
    [
        (b"5\r\nhello\r\n0\r\n\r\n", Decoded(b"hello")),
        (b"3;name=value\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n", Decoded(b"abcde")),
        (b"not chunked at all", Decoded(b"not chunked at all")),
        (b"5\r\nhel", Decoded(b"hel", problem="the last chunk has 3 of 5 bytes")),
        (b"3\r\nabc\r\nrest", Decoded(b"abcrest", problem="a broken chunk")),
        (b"", Decoded(b"")),
    ],
)
def test_dechunk(body: bytes, decoded: Decoded) -> None:
    assert dechunk(body, 1000) == decoded


def test_dechunk_stops_at_the_limit() -> None:
    assert dechunk(b"5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", 7) == Decoded(b"hellowo", cut=True)
    assert dechunk(b"ffffffffffffffff\r\nabc", 2) == Decoded(b"ab", cut=True)


CODED = {
    "gzip": gzip.compress(TEXT, mtime=0),
    "x-gzip": gzip.compress(TEXT[:1000], mtime=0) + gzip.compress(TEXT[1000:], mtime=0),
    "deflate": zlib.compress(TEXT),
    "zstd": zstandard.compress(TEXT),
}


@pytest.mark.parametrize("coding", CODED)
def test_a_body_is_decoded_up_to_the_limit(coding: str) -> None:
    assert decode_content(coding, CODED[coding], len(TEXT)) == Decoded(TEXT)
    assert decode_content(coding, CODED[coding], 100) == Decoded(TEXT[:100], cut=True)


def test_raw_deflate_is_decoded_too() -> None:
    assert decode_content("deflate", _raw_deflate(TEXT), 10_000) == Decoded(TEXT)


@pytest.mark.parametrize("coding", [*CODED, "br"])
def test_a_body_that_is_not_coded_comes_back_as_it_is(coding: str) -> None:
    assert decode_content(coding, b"plain text", 1000) == Decoded(b"plain text")


@pytest.mark.parametrize("coding", CODED)
def test_a_cut_body_is_decoded_as_far_as_it_goes_and_reported(coding: str) -> None:
    decoded = decode_content(coding, CODED[coding][:-4], 10_000)
    assert TEXT.startswith(decoded.data)
    assert decoded.problem


def test_an_unknown_coding_is_reported() -> None:
    decoded = decode_content("rot13", b"abc", 2)
    assert decoded == Decoded(b"ab", True, "the content coding 'rot13' is not known")


def test_salvage_returns_what_stands_before_the_damage() -> None:
    data = bytearray(zlib.compress(bytes(range(256)) * 400, 1))
    data[len(data) // 2] ^= 0xFF
    saved = salvage(bytes(data), 15, 1 << 20)
    assert saved
    assert (bytes(range(256)) * 400).startswith(saved[:1000])
    assert len(salvage(bytes(data), 15, 10)) <= 10


CHUNKS = b"3\r\nabc\r\n5 ;x=y\n\r\n\r\nd\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("body", "plain"),
    [
        (CHUNKS, b"abc\r\n\r\nd0123456789"),
        (b"0\r\n\r\n", b""),
        (b"", b""),
        (b"not chunked", b"not chunked"),
        (b"not\nchunked\n" * 2_000, b"not\nchunked\n" * 2_000),
        (b"x" * 20_000, b"x" * 20_000),
        (CHUNKS[:30], None),
        (b"3\r\nabcd\r\n0\r\n", None),
    ],
)
def test_a_chunked_body_is_hashed_in_pieces(body: bytes, plain: bytes | None, step: int) -> None:
    hashed = UnchunkedHash("sha1")
    for start in range(0, len(body), step):
        hashed.update(body[start : start + step])
    wanted = b"" if plain is None else hashlib.sha1(plain).digest()
    assert hashed.digest() == hashed.digest() == wanted
    if plain is not None:
        assert dechunk(body, len(body)).data == plain
