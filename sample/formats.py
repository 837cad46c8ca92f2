"""The sample's archive files: ARC, WARC and WACZ."""

import hashlib
import json
import uuid
import zlib
from datetime import datetime
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import surt
from server import Answer
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

_ADDRESS = "192.0.2.12"  # of a network that documentation may use
_AGENT = "Mozilla/5.0 (compatible; lantern-sample/1.0; +http://www.lantern.example/)"
_NOT_MODIFIED = "http://netpreserve.org/warc/{}/revisit/server-not-modified"


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def _http(answer: Answer) -> StatusAndHeaders:
    return StatusAndHeaders(f"{answer.status} {answer.reason}", answer.headers(), "HTTP/1.1")


class ArcFile:
    """An ARC of version 1, a gzip member a record."""

    def __init__(self, name: str, start: datetime) -> None:
        body = b"1 0 Lantern\nURL IP-address Archive-date Content-type Archive-length\n\n"
        head = f"filedesc://{name} 0.0.0.0 {start:%Y%m%d%H%M%S} text/plain {len(body)}\n"
        self._members = [_gzip(head.encode() + body)]

    def add(self, url: str, time: datetime, answer: Answer) -> None:
        """Add a record."""
        block = _http(answer).to_bytes() + answer.payload
        mime = answer.content_type.partition(";")[0]
        head = f"{url} {_ADDRESS} {time:%Y%m%d%H%M%S} {mime} {len(block)}\n"
        self._members.append(_gzip(head.encode() + block + b"\n"))

    def data(self) -> bytes:
        """Return the file."""
        return b"".join(self._members)


class WarcFile:
    """A WARC whose record ids follow from its name."""

    def __init__(self, name: str, version: str, start: datetime) -> None:
        self.name = name
        self.index: list[dict[str, str]] = []
        self._out = BytesIO()
        self._version = version
        self._writer = WARCWriter(self._out, gzip=not name.endswith(".warc"), warc_version=version)
        self._count = 0
        info = "software: nwx sample maker\r\nformat: WARC File Format {}\r\nisPartOf: lantern\r\n"
        self._write("warcinfo", "", f"{start:%Y-%m-%dT%H:%M:%SZ}", info.format(version).encode())

    def response(self, url: str, date: str, answer: Answer) -> str:
        """Add a response and return its id."""
        return self._write("response", url, date, answer.payload, answer)

    def revisit(self, url: str, date: str, answer: Answer, first_url: str, first_date: str) -> str:
        """Add a revisit of a content that was captured before, perhaps from another URL."""
        profile = f"http://netpreserve.org/warc/{self._version}/revisit/identical-payload-digest"
        refers = {
            "WARC-Profile": profile,
            "WARC-Refers-To-Target-URI": first_url,
            "WARC-Refers-To-Date": first_date,
            "WARC-Payload-Digest": answer.digest(),
        }
        return self._write("revisit", url, date, b"", answer, refers)

    def not_modified(self, url: str, date: str, answer: Answer, first_date: str) -> str:
        """Add a revisit for which the server said 304."""
        refers = {
            "WARC-Profile": _NOT_MODIFIED.format(self._version),
            "WARC-Refers-To-Target-URI": url,
            "WARC-Refers-To-Date": first_date,
            "WARC-Payload-Digest": answer.digest(),
        }
        head = StatusAndHeaders("304 Not Modified", [("Server", "Lighthouse/1.2")], "HTTP/1.1")
        return self._write("revisit", url, date, b"", answer, refers, head)

    def request(self, url: str, date: str, response: str) -> None:
        """Add the request that a response answers."""
        host, slash, path = url.partition("://")[2].partition("/")
        text = f"GET {slash}{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {_AGENT}\r\n\r\n"
        more = {"WARC-Concurrent-To": response}
        self._write("request", url, date, text.encode(), extra=more)

    def metadata(self, url: str, date: str, response: str, via: str, hops: str) -> None:
        """Add how the crawler came to a URL."""
        fields = f"via: {via}\r\nhopsFromSeed: {hops}\r\n" if via else "seed: \r\n"
        block = f"{fields}fetchTimeMs: {40 + len(url)}\r\n".encode()
        self._write("metadata", url, date, block, extra={"WARC-Concurrent-To": response})

    def resource(self, url: str, date: str, data: bytes, kind: str) -> None:
        """Add a file fetched by another protocol than HTTP."""
        self._write("resource", url, date, data, kind=kind)

    def conversion(self, url: str, date: str, data: bytes, kind: str) -> None:
        """Add another form of a content."""
        self._write("conversion", url, date, data, kind=kind)

    def data(self) -> bytes:
        """Return the file."""
        return self._out.getvalue()

    def _write(
        self,
        record_type: str,
        url: str,
        date: str,
        payload: bytes,
        answer: Answer | None = None,
        extra: dict[str, str] | None = None,
        head: StatusAndHeaders | None = None,
        kind: str = "",
    ) -> str:
        self._count += 1
        name = f"http://www.lantern.example/{self.name}#{self._count}"
        identity = f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}>"
        headers = {"WARC-Record-ID": identity, "WARC-Date": date} | (extra or {})
        if answer is not None:
            headers["WARC-IP-Address"] = _ADDRESS
        if record_type == "warcinfo":
            headers["WARC-Filename"] = self.name
        record: ArcWarcRecord = self._writer.create_warc_record(
            url,
            record_type,
            payload=BytesIO(payload),
            length=len(payload),
            warc_content_type=kind,
            warc_headers_dict=headers,
            http_headers=head or (_http(answer) if answer else None),
        )
        start = self._out.tell()
        self._writer.write_record(record)
        if answer is not None:
            self._note(url, date, answer, record_type, start)
        return identity

    def _note(self, url: str, date: str, answer: Answer, record_type: str, start: int) -> None:
        revisit = record_type == "revisit"
        mime = "warc/revisit" if revisit else answer.content_type.partition(";")[0]
        self.index.append(
            {
                "url": url,
                "mime": mime,
                "status": str(answer.status),
                "digest": answer.digest(),
                "length": str(self._out.tell() - start),
                "offset": str(start),
                "filename": "data.warc.gz",
                "date": date,
            }
        )


def wacz(file: WarcFile, created: datetime) -> bytes:
    """Return a WACZ 1.1 around a WARC: index, pages and checksums beside it."""
    members = {
        "archive/data.warc.gz": file.data(),
        "indexes/index.cdx.gz": gzip_index(file.index),
        "pages/pages.jsonl": _pages(file.index),
    }
    package = {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "title": "Lantern, spring of 2024",
        "software": "nwx sample maker",
        "created": f"{created:%Y-%m-%dT%H:%M:%SZ}",
        "mainPageUrl": "http://www.lantern.example/",
        "resources": [
            {
                "name": path.rpartition("/")[2],
                "path": path,
                "hash": _sha256(data),
                "bytes": len(data),
            }
            for path, data in members.items()
        ],
    }
    described = json.dumps(package, indent=2).encode()
    digest = {"path": "datapackage.json", "hash": _sha256(described)}
    members["datapackage.json"] = described
    members["datapackage-digest.json"] = json.dumps(digest, indent=2).encode()
    return _zip(members)


def gzip_index(entries: list[dict[str, str]]) -> bytes:
    """Return the compressed CDXJ of a file's captures, sorted."""
    lines = []
    for entry in entries:
        fields = {name: value for name, value in entry.items() if name != "date"}
        time = "".join(filter(str.isdigit, entry["date"]))[:14]
        lines.append(f"{surt.surt(entry['url'])} {time} {json.dumps(fields)}\n".encode())
    return _gzip(b"".join(sorted(lines)))


def _pages(entries: list[dict[str, str]]) -> bytes:
    lines = [json.dumps({"format": "json-pages-1.0", "id": "pages", "title": "All pages"})]
    for entry in entries:
        if entry["mime"] in {"text/html", "warc/revisit"} and entry["url"].endswith(("/", ".html")):
            identity = hashlib.sha1(entry["url"].encode()).hexdigest()[:16]
            lines.append(json.dumps({"id": identity, "url": entry["url"], "ts": entry["date"]}))
    return ("\n".join(lines) + "\n").encode()


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _zip(members: dict[str, bytes]) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w") as archive:
        for path, data in members.items():
            info = ZipInfo(path)  # of 1 January 1980, as all members
            info.compress_type = ZIP_STORED if path.endswith(".gz") else ZIP_DEFLATED
            info.create_system = 3
            archive.writestr(info, data)
    return out.getvalue()
