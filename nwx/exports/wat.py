"""Metadata records of WAT files, with the names of ia-web-commons, and texts of WET files.

docs/decisions/wat-and-wet.md lists the fields that differ from ia-web-commons (Common Crawl's
extractor).
"""

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from nwx.extract import extract
from nwx.extract.charset import decode
from nwx.extract.guard import disarm
from nwx.extract.html import repaired_html
from nwx.extract.page import ExtractLimits
from nwx.model import Extract
from nwx.values.digests import digest_of
from nwx.values.http import charset_of, decode_body, to_text, unfolded_lines
from nwx.warc.gzip_members import GZIP_MAGIC
from nwx.warc.record import RECORD_END, Record

_Entry = dict[str, Any]

_PAYLOAD_BYTES = 16 << 20
_GZIP_HEAD_BYTES, _GZIP_END_BYTES = 1_024, 8
_EXTRA, _NAME, _COMMENT, _HEAD_CRC = 4, 8, 16, 2
_UNCOUNTED = 2  # bytes of a request's head that ia-web-commons does not count
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
    """Return the decoded HTML page of a record and its content type, None if it has none."""
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
    """Yield the names and values of header fields, in order."""
    for line in lines:
        name, colon, value = line.partition(b":")
        if colon and name.strip():
            yield to_text(name.strip()), _RUNS.sub(" ", to_text(value.strip()))


def _fields(lines: Iterable[bytes]) -> _Entry:
    """Return fields by name as written; a repeated field has a list of its values."""
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
    """Return the metadata of a record's gzip member, {} if it has no separate one."""
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
    """Return the extract of the HTML page of a record, None if it has none."""
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
    """Return the title of a page and its text, one line per block."""
    return "\n".join(filter(None, (found.title, found.content)))


_LIMITS = ExtractLimits()
_LONGEST_TEXT = 128
_LONGEST_DATA_URL = 128
_MOST_CSS = 100_000

# element -> attributes with URLs, each with the attributes recorded with it
_LINKS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "a": (("href", ("target", "alt", "title", "rel", "hreflang", "type")),),
    "applet": (("codebase", ()), ("cdata", ())),
    "area": (("href", ("rel",)),),
    "audio": (("src", ()),),
    "blockquote": (("cite", ()),),
    "button": (("formaction", ()),),
    "del": (("cite", ()),),
    "embed": (("src", ()),),
    "form": (("action", ("target", "method")),),
    "frame": (("src", ()),),
    "iframe": (("src", ()),),
    "img": (("src", ("alt", "title")), ("longdesc", ())),
    "input": (("src", ()), ("formaction", ())),
    "ins": (("cite", ()),),
    "link": (("href", ("rel", "type")),),
    "menuitem": (("icon", ()),),
    "object": (("codebase", ()), ("cdata", ()), ("data", ())),
    "q": (("cite", ()),),
    "script": (("src", ("type",)),),
    "source": (("src", ()),),
    "track": (("src", ()),),
    "video": (("src", ()), ("poster", ())),
}
_ANY_ELEMENT = ("background", "data-href", "data-uri")
_META = ("name", "rel", "content", "http-equiv", "property")
_WANTED = ",".join(
    [*_LINKS, "html", "base", "meta", "title", "style", "div[onclick]"]
    + [f"[{name}]" for name in _ANY_ELEMENT]
)
_IN_HEAD = {"link": "Link", "script": "Scripts"}
_CSS_URL = re.compile(r"url\s*\(\s*([^)\s]{1,8000}?)\s*\)")
_CSS_IMPORT = re.compile(r"@import\s+((?:'[^']+')|(?:\"[^\"]+\")|(?:[a-z0-9_.:/\\-]+))\s*;")
_CSS_QUOTES = re.compile(r"^(?:\\?[\"'])+|(?:\\?[\"'])+$")
_ON_CLICK = (
    re.compile(
        r"^(?:javascript:)?(?:(?:window|top|document|self|parent)\.)?location(?:\.href)?\s*=\s*"
        r"'([^'\"]{3,256})'$",
        re.I,
    ),
    re.compile(r"^(?:javascript:)?(?:window|parent)\.open\(['\"]([^\"']{3,256}?)['\"][,)]", re.I),
)


def html_metadata(data: bytes, content_type: str, charset: str) -> _Entry:
    """Return the `HTML-Metadata` of a page: its head, and its links as written in the markup."""
    html = repaired_html(decode(data, content_type, charset), content_type)
    html, _ = disarm(html, _LIMITS)
    try:
        tree = LexborHTMLParser(html)
    except (SelectolaxError, UnicodeError):
        return {}
    page = _Page()
    for node in tree.css(_WANTED):
        page.add(node)
    return page.metadata()


class _Page:
    """The metadata of a page; a link with text follows the links inside its element."""

    def __init__(self) -> None:
        self._head: _Entry = {}
        self._links: list[_Entry] = []
        self._open: list[tuple[_Entry, int]] = []  # anchors, and the number of elements left

    def metadata(self) -> _Entry:
        """Return the nonempty ones of `Head` and `Links`."""
        while self._open:
            self._links.append(self._open.pop()[0])
        found = {"Head": self._head, "Links": self._links}
        return {name: value for name, value in found.items() if value}

    def add(self, node: LexborNode) -> None:
        """Add the next element of the page."""
        tag, attributes = node.tag or "", node.attributes
        self._close()
        for name in _ANY_ELEMENT:
            if url := attributes.get(name):
                self._links.append(_link(tag, name, url))
        self._about(tag, node, attributes)
        for name, others in _LINKS.get(tag, ()):
            if name not in attributes:
                continue
            url = attributes[name] or ""
            noted = {other: attributes[other] or "" for other in others if other in attributes}
            link = _link(tag, name, url) | noted
            if tag == "a":
                text = " ".join(node.text().split())[:_LONGEST_TEXT].rstrip()
                inner = len(node.css(_WANTED)) - 1
                self._open.append((link | ({"text": text} if text else {}), inner))
            elif tag in _IN_HEAD:
                self._head.setdefault(_IN_HEAD[tag], []).append(link)
            else:
                self._links.append(link)
        if tag in ("div", "input"):
            self._links += _of_script(tag, attributes.get("onclick") or "")

    def _close(self) -> None:
        """Add the anchors whose inner elements have all been added."""
        while self._open and self._open[-1][1] == 0:
            self._links.append(self._open.pop()[0])
        self._open = [(link, left - 1) for link, left in self._open]

    def _about(self, tag: str, node: LexborNode, attributes: Mapping[str, str | None]) -> None:
        metas: list[_Entry] = []
        if tag == "html":
            names = ("lang", "xml:lang")
            given = {name: attributes[name] for name in names if attributes.get(name)}
            metas = [{"name": f"HTML@/{name}", "content": value} for name, value in given.items()]
        elif tag == "meta":
            meta = {name: value for name in _META if (value := attributes.get(name)) is not None}
            if meta.get("property") == "og:image":
                meta["content"] = _short(meta.get("content", ""))
            metas = [meta] if len(meta) > 1 else []
        elif tag == "base" and (base := attributes.get("href")):
            self._head["Base"] = base
        elif tag == "title" and not _is_in_svg(node):
            self._head.setdefault("Title", " ".join(node.text().split())[:_LONGEST_TEXT])
        elif tag == "style":
            self._links += _of_style(node.text())
        if metas:
            self._head.setdefault("Metas", []).extend(metas)


def _is_in_svg(node: LexborNode) -> bool:
    return node.parent is not None and node.parent.tag == "svg"


def _link(tag: str, name: str, url: str) -> _Entry:
    return {"path": f"{tag.upper()}@/{name}", "url": _short(url)}


def _of_script(tag: str, script: str) -> Iterator[_Entry]:
    for pattern in _ON_CLICK:
        if found := pattern.search(script):
            yield _link(tag, "onclick", found[1])


def _of_style(css: str) -> Iterator[_Entry]:
    for pattern in (_CSS_URL, _CSS_IMPORT):
        for found in pattern.finditer(css[:_MOST_CSS]):
            if url := _CSS_QUOTES.sub("", found[1]):
                yield {"path": "STYLE/#text", "href": _short(url)}


def _short(url: str) -> str:
    """Return a URL; a `data:` URL without its data."""
    if not url.startswith("data:"):
        return url
    comma = url.find(",", 0, _LONGEST_DATA_URL + 1)
    return url[: comma + 1] if comma >= 0 else url[:_LONGEST_DATA_URL]
