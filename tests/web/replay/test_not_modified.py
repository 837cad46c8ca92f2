"""Revisits of pages that the server called not modified, played by the real pywb."""

import gzip
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from tests.web.replay.played_records import fetch, import_file, warc

pytestmark = pytest.mark.xdist_group("replay")

FIRST = b"<p>first</p>"
OF_FIRST = {"WARC_Payload_Digest": "sha1:RU2EQ7HESOPLH3VM5QOR7TFMZN7FX626"}
"""Otherwise captures of the other tests' page would play as this one."""


def test_not_modified_plays_as_what_was_not_modified(
    archive: tuple[Engine, Path], service: str
) -> None:
    engine, folder = archive
    url = "http://h.example/"
    original = warc("response", url, "2017-01-01T00:00:00Z", FIRST, **OF_FIRST)
    told = warc(
        *("revisit", url, "2018-01-01T00:00:00Z", b""),
        status=b"304 Not Modified",
        **OF_FIRST,
        WARC_Profile="http://netpreserve.org/warc/1.1/revisit/server-not-modified",
        WARC_Refers_To_Target_URI=url,
        WARC_Refers_To_Date="2017-01-01T00:00:00Z",
    )
    (folder / "modified.warc.gz").write_bytes(original + told)
    import_file(engine, folder / "modified.warc.gz")
    status, text = fetch(f"{service}/replay/20180101000000mp_/{url}")
    assert status == 200
    assert "<p>first</p>" in text


@pytest.mark.parametrize("block", [b"", b"HTTP/1.1 304 Not Modified\r\n\r\n"])
def test_not_modified_never_plays_an_empty_body_of_another_url(
    archive: tuple[Engine, Path], service: str, block: bytes
) -> None:
    engine, folder = archive
    url = f"http://i.example/{len(block)}"
    empty = {"WARC_Payload_Digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"}
    head = (
        f"WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Target-URI: {url}\r\n"
        "WARC-Date: 2018-01-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified\r\n"
        "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    records = (
        warc("response", url, "2017-01-01T00:00:00Z", FIRST, **OF_FIRST),
        warc("response", f"{url}/icon", "2017-01-01T00:00:00Z", b"", **empty),
        gzip.compress(head.encode() + block + b"\r\n\r\n"),
    )
    (folder / f"empty-{len(block)}.warc.gz").write_bytes(b"".join(records))
    import_file(engine, folder / f"empty-{len(block)}.warc.gz")
    assert fetch(f"{service}/replay/20180101000000id_/{url}") == (200, "<p>first</p>")
