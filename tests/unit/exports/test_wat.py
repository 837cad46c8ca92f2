"""Metadata of records in the format of Common Crawl's extractor."""

import gzip
from pathlib import Path
from typing import Any

from nwx.exports.archive_inputs import SEES_ALL, VisibleRecords
from nwx.exports.wat import wat_entry
from nwx.warc.sources import ArchiveSource
from tests.warc_records import FIELDS, http_response, outlink_lines, warc_bytes, write_records

REQUEST = b"GET /page HTTP/1.1\r\nHost: a.example\r\nAccept:  a   b\r\n\r\n"


def entries(path: Path) -> list[dict[str, Any]]:
    """Return the metadata of the records in a file."""
    source = ArchiveSource(path.name, str(path), None)
    compressed = path.suffix == ".gz"
    with path.open("rb") as handle:
        records = VisibleRecords(source, "", SEES_ALL)
        return [wat_entry(one, path.name, handle, compressed=compressed) for one in records]


def one_entry(tmp_path: Path, record: bytes) -> dict[str, Any]:
    return entries(write_records(tmp_path / "one.warc.gz", [record]))[0]


def test_a_request(tmp_path: Path) -> None:
    record = warc_bytes(
        "request", REQUEST, id="q", content_type="application/http; msgtype=request"
    )
    entry = one_entry(tmp_path, record)
    stored = gzip.compress(record, 6, mtime=0)
    assert entry["Container"]["Gzip-Metadata"] == {
        "Deflate-Length": str(len(stored)),
        "Header-Length": "10",
        "Footer-Length": "8",
        "Inflated-CRC": str(int.from_bytes(stored[-8:-4], "little", signed=True)),
        "Inflated-Length": str(len(record)),
    }
    envelope = entry["Envelope"]
    assert envelope["Format"] == "WARC/1.0"
    assert envelope["WARC-Header-Length"] == str(len(record) - len(REQUEST) - 4)
    assert envelope["WARC-Header-Metadata"]["WARC-Record-ID"] == "<urn:x:q>"
    payload = envelope["Payload-Metadata"]
    assert payload["Trailing-Slop-Length"] == "4"
    message = payload["HTTP-Request-Metadata"]
    assert message["Request-Message"] == {
        "Method": "GET",
        "Path": "/page",
        "Version": "HTTP/1.1",
    }
    assert message["Headers"] == {"Host": "a.example", "Accept": "a b"}
    assert message["Headers-Length"] == str(len(REQUEST) - 2)  # as the extractor counts


def test_a_page_has_its_head_and_links(tmp_path: Path) -> None:
    page = b"""<html lang=de><head><title>A  page</title><base href="/b/"><meta name=x content=y>
    <link rel=icon href=i.ico><script src=s.js></script><style>a{background:url('p.png')}</style>
    </head><body background=b.png><a href=l title="">one <img src=in.png alt=""></a>
    <a name=n>none</a><img src="data:image/png;base64,AAAA"><form action=f method=post></form>
    <div onclick="window.open('w.html')">x</div></body></html>"""
    entry = one_entry(tmp_path, warc_bytes("response", http_response(page), id="r"))
    html = entry["Envelope"]["Payload-Metadata"]["HTTP-Response-Metadata"]["HTML-Metadata"]
    assert html["Head"] == {
        "Metas": [{"name": "HTML@/lang", "content": "de"}, {"name": "x", "content": "y"}],
        "Title": "A page",
        "Base": "/b/",
        "Link": [{"path": "LINK@/href", "url": "i.ico", "rel": "icon"}],
        "Scripts": [{"path": "SCRIPT@/src", "url": "s.js"}],
    }
    assert html["Links"] == [
        {"path": "STYLE/#text", "href": "p.png"},
        {"path": "BODY@/background", "url": "b.png"},
        {"path": "IMG@/src", "url": "in.png", "alt": ""},
        {"path": "A@/href", "url": "l", "title": "", "text": "one"},
        {"path": "IMG@/src", "url": "data:image/png;base64,"},
        {"path": "FORM@/action", "url": "f", "method": "post"},
        {"path": "DIV@/onclick", "url": "w.html"},
    ]


def test_records_of_other_types(tmp_path: Path) -> None:
    block = b"software: x\r\nisPartOf: y\r\nisPartOf: z"
    dns = b"20150101000000\na.example.\t60\tIN\tA\t192.0.2.1\n"
    records = [
        warc_bytes("warcinfo", block, id="i", url="", content_type=FIELDS),
        warc_bytes("metadata", outlink_lines("http://b.example/"), id="m", content_type=FIELDS),
        warc_bytes("response", dns, id="d", url="dns:a.example", content_type="text/dns"),
        warc_bytes("resource", b"x", id="s", url="http://a.example/x", content_type="image/png"),
    ]
    plain = tmp_path / "plain.warc"
    plain.write_bytes(b"".join(records))
    found = entries(plain)
    payloads = [one["Envelope"]["Payload-Metadata"] for one in found]
    assert payloads[0]["WARC-Info-Metadata"] == {"software": "x", "isPartOf": ["y", "z"]}
    fields = payloads[1]["WARC-Metadata-Metadata"]["Metadata-Records"]
    assert fields[-1] == {"Name": "outlink", "Value": "http://b.example/ L a/@href"}
    answer = {"Name": "a.example.", "TTL": 60, "Net-Class": "IN", "Type": "A", "Value": "192.0.2.1"}
    assert payloads[2]["DNS-Metadata"] == {"Date": "20150101000000", "Entries": [answer]}
    assert payloads[3]["Actual-Content-Length"] == "1"
    assert [one["Container"]["Compressed"] for one in found] == [False] * 4


def test_an_arc_record(tmp_path: Path) -> None:
    block = http_response(b"<title>T</title>")
    line = b"http://a.example/ 192.0.2.1 20150101000000 text/html %d\n" % len(block)
    arc = tmp_path / "a.arc.gz"
    arc.write_bytes(gzip.compress(line + block + b"\n"))
    (entry,) = entries(arc)
    assert entry["Envelope"]["Format"] == "ARC"
    assert entry["Envelope"]["ARC-Header-Metadata"] == {
        "Target-URI": "http://a.example/",
        "IP-Address": "192.0.2.1",
        "Date": "20150101000000",
        "Content-Type": "text/html",
        "Content-Length": str(len(block)),
    }
