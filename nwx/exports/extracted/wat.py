"""Metadata records of WAT files, named as by Common Crawl's extractor (ia-web-commons), and texts.

docs/decisions/wat-and-wet.md lists the fields that differ from its own.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from nwx.exports.extracted.html_metadata import html_metadata
from nwx.extract import extract
from nwx.model import Extract
from nwx.values.digests import digest_of
from nwx.values.http import charset_of, decode_body, to_text, unfolded_lines
from nwx.warc.gzip_members import GZIP_MAGIC
from nwx.warc.record import RECORD_END, Record

_Entry = dict[str, Any]

_PAYLOAD_BYTES = 16 << 20
_GZIP_HEAD_BYTES, _GZIP_END_BYTES = 1_024, 8
_EXTRA, _NAME, _COMMENT, _HEAD_CRC = 4, 8, 16, 2
_UNCOUNTED = 2  # bytes of the head of a request that the extractor does not count
_RUNS = re.compile(r" {2,}")
_FILEDESC = re.compile(rb"(\d+) (\d+) ([^\r\n]*)\r?\n([^\r\n]*)")
_HTTP = {"request": "HTTP-Request", "response": "HTTP-Response", "revisit": "HTTP-Response"}


def wat_entry(record: Record, filename: str, handle: BinaryIO, *, compressed: bool) -> _Entry:
    """Return the metadata of a record; `handle` is its stored file, open."""
    gzip = _gzip_metadata(handle, record) if compressed else {}
    container = {"Filename": filename, "Compressed": compressed, "Offset": str(record.offset)}
    slop = int(gzip.get("Inflated-Length", 0)) - len(record.head) - record.block_length
    payload = _payload(record)
    payload["Actual-Content-Length"] = str(record.block_length)
    payload["Trailing-Slop-Length"] = str(slop if gzip and slop >= 0 else len(RECORD_END))
    if digest := record.digest("sha1"):
        payload["Block-Digest"] = digest_of("sha1", digest)
    envelope = _arc_envelope(record) if record.format == "arc" else _warc_envelope(record)
    return {
        "Container": container | ({"Gzip-Metadata": gzip} if gzip else {}),
        "Envelope": {"Payload-Metadata": payload} | envelope,
    }


def html_payload(record: Record) -> tuple[bytes, str] | None:
    """Return the page of a record without its codings, and its type; None where it has none."""
    head = record.http_head()
    if record.kind not in ("response", "revisit") or not head.size:
        return None
    identified = to_text(record.fields.get(b"warc-identified-payload-type"))
    content_type = head.text(b"content-type")
    if identified:
        is_html = identified in ("text/html", "application/xhtml+xml")
    else:
        is_html = "html" in content_type.lower()
    return (
        (decode_body(head, record.body(), _PAYLOAD_BYTES).data, content_type) if is_html else None
    )


def _warc_envelope(record: Record) -> _Entry:
    version, *lines = unfolded_lines(record.head)
    return {
        "Format": to_text(version.strip()),
        "WARC-Header-Length": str(len(record.head)),
        "WARC-Header-Metadata": _fields(lines),
    }


def _arc_envelope(record: Record) -> _Entry:
    get, line = record.fields.get, record.head.split()
    fields = {
        "Target-URI": to_text(get(b"warc-target-uri")),
        "IP-Address": to_text(get(b"warc-ip-address")),
        "Date": to_text(get(b"warc-date")),
        "Content-Type": to_text(get(b"content-type")),
        "Content-Length": to_text(line[-1]) if line else "",
    }
    length = str(len(record.head))
    return {"Format": "ARC", "ARC-Header-Length": length, "ARC-Header-Metadata": fields}


def _payload(record: Record) -> _Entry:
    content_type = to_text(record.fields.get(b"content-type"))
    block = bytes(record.block)
    if record.format == "arc" and record.kind == "warcinfo":
        return {"Actual-Content-Type": "alexa/filedesc"} | _filedesc(block)
    if record.kind == "warcinfo":
        fields = _fields(unfolded_lines(block))
        return {"Actual-Content-Type": "application/warc-fields", "WARC-Info-Metadata": fields}
    if record.kind == "metadata":
        records = [
            {"Name": name, "Value": value} for name, value in pairs_of(unfolded_lines(block))
        ]
        found = {"Metadata-Records": records} if records else {}
        told = "application/metadata-fields"
        return {"Actual-Content-Type": told, "WARC-Metadata-Metadata": found}
    if record.http_head().size:
        return _http_payload(record)
    if content_type.startswith("text/dns"):
        return {"Actual-Content-Type": "text/dns", "DNS-Metadata": _dns(block)}
    return {}


def _http_payload(record: Record) -> _Entry:
    head = record.http_head()
    first, *lines = unfolded_lines(bytes(record.block[: head.size]))
    words = [*to_text(first.strip()).split(" ", 2), "", ""]
    name = _HTTP[record.kind]
    kind = name.partition("-")[2].lower()
    names = ("Method", "Path", "Version") if kind == "request" else ("Version", "Status", "Reason")
    found: _Entry = {
        f"{kind.title()}-Message": dict(zip(names, words, strict=False)),
        "Headers-Length": str(head.size - (_UNCOUNTED if kind == "request" else 0)),
        "Headers": _fields(lines),
    }
    page = html_payload(record)
    if page is not None:
        found["HTML-Metadata"] = html_metadata(*page, charset_of(page[1]))
    found["Entity-Length"] = str(record.block_length - head.size)
    if digest := record.digest("sha1", head.size):
        found["Entity-Digest"] = digest_of("sha1", digest)
    found["Entity-Trailing-Slop-Length"] = "0"
    told = f"application/http; msgtype={kind}"
    return {"Actual-Content-Type": told, f"{name}-Metadata": found}


def pairs_of(lines: Iterable[bytes]) -> Iterator[tuple[str, str]]:
    """Yield the names and the values of fields, in order."""
    for line in lines:
        name, colon, value = line.partition(b":")
        if colon and name.strip():
            yield to_text(name.strip()), _RUNS.sub(" ", to_text(value.strip()))


def _fields(lines: Iterable[bytes]) -> _Entry:
    """Return fields by their names as written; of a repeated one the list of its values."""
    found: _Entry = {}
    for name, value in pairs_of(lines):
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


def _filedesc(block: bytes) -> _Entry:
    found = _FILEDESC.match(block)
    if found is None:
        return {}
    names = ("Major-Version", "Minor-Version", "Organization", "Format")
    values = (to_text(value) for value in found.groups())
    return {"Filedesc-Metadata": dict(zip(names, values, strict=True))}


def _dns(block: bytes) -> _Entry:
    date, *lines = to_text(block).splitlines() or [""]
    entries = []
    for line in lines:
        words = line.split(None, 4)
        if len(words) == 5 and words[1].isdigit():
            name, ttl, netclass, kind, value = words
            rest = {"Net-Class": netclass, "Type": kind, "Value": value}
            entries.append({"Name": name, "TTL": int(ttl)} | rest)
    return {"Date": date} | ({"Entries": entries} if entries else {})


def _gzip_metadata(handle: BinaryIO, record: Record) -> _Entry:
    """Return the facts of the gzip member of a record, {} where it has none of its own."""
    handle.seek(record.offset)
    start = handle.read(min(record.length, _GZIP_HEAD_BYTES))
    if len(start) < 10 or not start.startswith(GZIP_MAGIC):
        return {}
    size, name = _gzip_head(start)
    handle.seek(record.offset + record.length - _GZIP_END_BYTES)
    end = handle.read(_GZIP_END_BYTES)
    if len(end) < _GZIP_END_BYTES:
        return {}
    checksum, inflated = struct.unpack("<iI", end)
    return ({"Filename": name} if name else {}) | {
        "Deflate-Length": str(record.length),
        "Header-Length": str(size),
        "Footer-Length": str(_GZIP_END_BYTES),
        "Inflated-CRC": str(checksum),
        "Inflated-Length": str(inflated),
    }


def _gzip_head(start: bytes) -> tuple[int, str]:
    """Return the size of the head of a gzip member, and the file name in it."""
    flags, size, name = start[3], 10, ""
    if flags & _EXTRA:
        size += 2 + int.from_bytes(start[size : size + 2], "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            end = start.find(b"\0", size) + 1
            name = to_text(start[size : end - 1]) if flag == _NAME else name
            size = end or len(start)
    return size + (2 if flags & _HEAD_CRC else 0), name


def extract_page(record: Record) -> Extract | None:
    """Return the extract of the HTML page of a record, None where it has none."""
    page = html_payload(record)
    if page is None:
        return None
    data, content_type = page
    url = to_text(record.fields.get(b"warc-target-uri")).strip(" <>")
    return extract(
        data,
        url=url,
        content_type_norm="html",
        content_type=content_type,
        charset=charset_of(content_type),
    )


def page_text(found: Extract) -> str:
    """Return the title of a page and its text, a line for each block."""
    return "\n".join(filter(None, (found.title, found.content)))
