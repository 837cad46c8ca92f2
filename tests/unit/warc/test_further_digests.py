"""SHA-1 and SHA-256 of payloads in addition to the digest in their records."""

import hashlib
import io
import subprocess
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from nwx.values.digests import digest_of
from nwx.warc.reader import ReadLimits
from tests.unit.warc.stored_files import http, read, sha1, warc, zipped

BODY = b"<p>stone</p>" * 9
CHUNKED = b"24\r\n" + BODY[:36] + b"\r\n48\r\n" + BODY[36:] + b"\r\n0\r\n\r\n"
CODED = "Transfer-Encoding: chunked"
SHA256 = "sha256:" + hashlib.sha256(BODY).hexdigest()
MD5 = "md5:" + hashlib.md5(BODY).hexdigest()


def further(data: bytes, **options: object) -> tuple[str, ...]:
    (found,), errors = read(data, further=True, **options)
    assert not errors
    return found.further


@pytest.mark.parametrize(
    ("block", "digest", "wanted"),
    [
        (http(BODY), sha1(BODY), (SHA256,)),
        (http(BODY), sha1(BODY).lower().removeprefix("sha1:"), (SHA256,)),
        (http(BODY), "", (SHA256,)),
        (http(BODY), SHA256, (sha1(BODY),)),
        (http(BODY), MD5, (sha1(BODY), SHA256)),
        (http(CHUNKED, CODED), sha1(CHUNKED), (SHA256,)),
        (http(CHUNKED, CODED), sha1(BODY), (SHA256,)),
        (http(BODY, CODED), sha1(BODY), (SHA256,)),
        (http(BODY), sha1(b"another"), ()),
    ],
)
@pytest.mark.parametrize("kept", [1 << 20, 80])
def test_the_payload_is_without_its_chunks(
    block: bytes, digest: str, wanted: tuple[str, ...], kept: int
) -> None:
    fields = {"WARC_Payload_Digest": digest} if digest else {}
    assert further(warc(block, **fields), limits=ReadLimits(body_bytes=kept)) == wanted


def test_revisits_and_segments_have_none() -> None:
    fields = {"WARC_Payload_Digest": sha1(BODY)}
    assert further(warc(http(b""), "revisit", **fields)) == ()
    assert further(warc(http(BODY), WARC_Segment_Number="1", **fields)) == ()
    assert further(warc(b"plain", "resource", Content_Type="text/plain")) == (
        "sha256:" + hashlib.sha256(b"plain").hexdigest(),
    )


def test_they_are_those_of_warcio_and_sha256sum(tmp_path: Path) -> None:
    bodies = [b"", b"x" * 100_000, BODY]
    data = zipped(
        *(warc(http(body), url=f"http://a.example/{n}") for n, body in enumerate(bodies)),
        warc(http(CHUNKED, CODED), url="http://a.example/chunked"),
    )
    read_by_warcio = [
        record.content_stream().read() for record in ArchiveIterator(io.BytesIO(data))
    ]
    assert read_by_warcio == [*bodies, BODY]
    for number, body in enumerate(read_by_warcio):
        (tmp_path / str(number)).write_bytes(body)
    files = [tmp_path / str(number) for number in range(4)]
    told = subprocess.run(["sha256sum", *files], capture_output=True, text=True, check=True)
    wanted = [digest_of("sha256", bytes.fromhex(line[:64])) for line in told.stdout.splitlines()]
    captures, errors = read(data, further=True)
    assert ([one.further for one in captures], errors) == ([(one,) for one in wanted], [])
