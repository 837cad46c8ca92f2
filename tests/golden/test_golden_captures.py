"""Captures of real files compared with the CDX that pywb's cdx-indexer writes for them.

The golden CDX files were made with pywb 2.10.0 (`cdx-indexer -s`) by people other than the authors
of this reader. Each intended difference has its reason next to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from surt import surt

from nwx.captures import NOTE_SCHEMES
from nwx.model import Capture, ReadError
from nwx.values.digests import normal_digest
from nwx.values.urlkeys import urlkey
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource, expand
from tests.conftest import SHARED_DATA

GOOD = ("warc", "arc", "wacz", "serp")

# Files in which nwx has no captures at these offsets: metadata records are notes on
# captures, not captures (pywb lists them unless they are warc-fields).
METADATA = {
    "warc/dolma-sample-0000.warc.gz": {212223},
    "warc/transfer_compression_brotli.warc.gz": {1684},
    "warc/transfer_compression_gzip.warc.gz": {1733},
    "warc/transfer_compression_none.warc.gz": {1592},
    "warc/whirlwind.warc.wat.gz": {443},
    "malformed/baconIpsum_chunked_httpTrailors.warc": {41592},
    "malformed/example-wget-bad-target-uri.warc.gz": {1978},
}
# pywb cannot read the ARC of Common Crawl, which lacks a newline after its first record;
# the golden CDX is of a copy with that newline, so its offsets are adjusted by one.
REPAIRED = "arc/cc2008-small-sample-1213893279526_0.arc"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a golden CDX."""

    urlkey: str
    timestamp: str
    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: int


def _golden(relative: str) -> dict[int, Line]:
    folder = "pywb-cdx11-repaired" if relative == REPAIRED else "pywb-cdx11"
    path = SHARED_DATA / "golden" / folder / f"{relative}.cdx"
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    parsed = [_line(line) for line in lines if not line.startswith(" CDX")]
    return {line.offset: line for line in parsed}


def _line(text: str) -> Line:
    key, stamp, url, mime, status, digest, _, _, length, offset, _ = text.split(" ")
    return Line(key, stamp, url, mime, status, digest, length, int(offset))


def _relative(source: ArchiveSource) -> str:
    path = str(Path(source.path).relative_to(SHARED_DATA))
    return f"{path}/{source.member}" if source.member else path


def _sources(folders: tuple[str, ...]) -> list[ArchiveSource]:
    found = expand(str(SHARED_DATA / folder) for folder in folders)
    return [source for source in found if isinstance(source, ArchiveSource)]


def _read(source: ArchiveSource) -> tuple[dict[int, Capture], list[ReadError]]:
    captures: dict[int, Capture] = {}
    errors = []
    for found in ArchiveReader(source, "test"):
        if isinstance(found, CaptureRecord):
            captures[found.capture.source_file_offset] = found.capture
        else:
            errors.append(found)
    return captures, errors


def _differences(relative: str, capture: Capture, line: Line) -> Iterator[str]:
    if capture.timestamp != line.timestamp:
        yield f"timestamp {capture.timestamp} for {line.timestamp}"
    if capture.url != line.url:
        yield f"url {capture.url} for {line.url}"
    if str(capture.record_length) != line.length:
        yield f"length {capture.record_length} for {line.length}"
    yield from _key_difference(capture, line)
    yield from _digest_difference(capture, line)
    yield from _status_difference(relative, capture, line)


def _key_difference(capture: Capture, line: Line) -> Iterator[str]:
    if capture.method in ("POST", "PUT"):
        # as in cdxj-indexer --post-append; the golden CDX lack it
        if f"__wb_method={capture.method.lower()}" not in capture.urlkey:
            yield f"urlkey {capture.urlkey} of a {capture.method}"
    elif capture.urlkey != line.urlkey:
        yield f"urlkey {capture.urlkey} for {line.urlkey}"


def _digest_difference(capture: Capture, line: Line) -> Iterator[str]:
    # one spelling per value: hex SHA-1 and `sha-256:` are normalized
    expected = "" if line.digest == "-" else normal_digest(line.digest)
    if capture.digest != expected:
        yield f"digest {capture.digest} for {line.digest}"


def _status_difference(relative: str, capture: Capture, line: Line) -> Iterator[str]:
    status = "-" if capture.status_code is None else str(capture.status_code)
    if status == line.status:
        return
    if capture.record_type == "revisit" and line.status == "-":
        return  # nwx keeps the status in the revisit's HTTP header
    if capture.url.startswith("dns:") and status == "-":
        return  # DNS responses have no HTTP status; pywb invents 200
    if relative.startswith("serp/") and line.status == "HTTP/1.1" and status == "200":
        return  # `HTTP/1.1 HTTP/1.1 200 OK`: the status is the number
    yield f"status {status} for {line.status}"


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("folder", GOOD)
def test_captures_of_good_files_are_those_of_pywb(folder: str) -> None:
    sources = _sources((folder,))
    assert sources
    for source in sources:
        relative = _relative(source)
        captures, errors = _read(source)
        golden = _golden(relative)
        assert not errors, relative
        # wget's notes about itself are not captures, whatever their record type
        notes = {offset for offset, line in golden.items() if line.url.startswith(NOTE_SCHEMES)}
        expected = golden.keys() - METADATA.get(relative, set()) - notes
        assert captures.keys() == expected, relative
        found = [
            f"{relative} at {offset}: {difference}"
            for offset, capture in captures.items()
            for difference in _differences(relative, capture, golden[offset])
        ]
        assert not found


# The most captures that pywb, cdxj-indexer or jwarc finds in each damaged file
# (golden/tool-differences.tsv), and the error kinds that nwx reports.
DAMAGED = {
    "Evil-Warc-Headers.warc": (1, {"length"}),
    "IAH-20080430204825-00000-blackbook-truncated.arc": (8, set()),  # jwarc skips dns:
    # pywb lists three more, wget's notes about itself
    "baconIpsum_chunked_httpTrailors.warc": (1, set()),
    "bad.arc": (3, {"length"}),
    "clipped.warc.gz": (1, {"gzip"}),
    # jwarc counts 11 and 29, two of them at offsets of other records
    "corrupted-mid-record.warc.gz": (12, {"gzip"}),
    "corrupted-trailing-bytes.warc.gz": (30, {"gzip"}),
    "example-bad-non-chunked.warc.gz": (2, set()),
    "example-digest.warc": (0, set()),
    "example-space-in-target-uri.warc.gz": (1, set()),
    "example-space-in-url.arc": (1, {"length"}),
    "example-trunc.warc": (1, set()),
    "example-wget-bad-target-uri.warc.gz": (1, set()),  # so here
    "example-wrong-chunks.warc.gz": (1, set()),
    "invalid-warcfile-digest-fields.warc": (4, {"digest"}),
    "invalid-warcfile-duplicate-fields.warc": (0, set()),
    "invalid-warcfile-record-then-garbage.warc": (1, {"length"}),
    "link-extraction-test.warc": (6, {"url"}),
    "transfer_compression_none_truncated.warc.gz": (1, {"gzip"}),
    "variableSizedDates.warc": (4, set()),
    # not the name of an archive, so not found in folders; jwarc reads 3
    "example-bad.warc.gz.bad": (3, set()),
}


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_give_at_least_what_the_best_tool_finds(name: str) -> None:
    path = SHARED_DATA / "malformed" / name
    (source,) = expand([str(path)])
    assert isinstance(source, ArchiveSource)
    captures, errors = _read(source)
    expected, kinds = DAMAGED[name]
    assert (len(captures), {error.kind for error in errors}) == (expected, kinds)
    assert all(error.file == name and error.offset is not None for error in errors)


@pytest.mark.usefixtures("shared_data")
def test_every_damaged_file_is_looked_at() -> None:
    assert {path.name for path in (SHARED_DATA / "malformed").iterdir()} == DAMAGED.keys()


@pytest.mark.usefixtures("shared_data")
def test_verifying_finds_the_records_whose_digests_fail() -> None:
    table = (SHARED_DATA / "golden" / "digest-check.tsv").read_text(encoding="utf-8")
    failing = set()
    for line in table.splitlines()[1:]:
        _, file, offset, *_, verdict, _, _, _, block_ok = line.split("\t")
        if verdict == "mismatch" or block_ok == "False":
            failing.add((file, int(offset)))
    found = set()
    for source in _sources((*GOOD, "malformed")):
        for error in ArchiveReader(source, "test", verify=True):
            if isinstance(error, ReadError) and error.kind == "digest":
                found.add((_relative(source), error.offset))
    # nwx reads `:2WAX…` as a digest, and a wrong one
    assert found - failing == {("malformed/invalid-warcfile-digest-fields.warc", 2130)}
    # a base64 digest, which matches the bytes
    assert failing - found == {("malformed/example-digest.warc", 2758)}


@pytest.mark.usefixtures("shared_data")
def test_urlkeys_of_all_golden_urls_are_those_of_the_package() -> None:
    paths = (SHARED_DATA / "golden").rglob("*.cdx")
    urls = set()
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        urls.update(line.split(" ")[2] for line in text.splitlines() if line.count(" ") > 7)
    urls.discard("a")
    assert len(urls) > 2000
    assert not [url for url in urls if urlkey(url) != surt(url)]


@pytest.mark.usefixtures("shared_data")
def test_requests_and_metadata_enrich_their_captures() -> None:
    (source,) = expand([str(SHARED_DATA / "warc/IAH-20080430204825-00000-blackbook.warc.gz")])
    assert isinstance(source, ArchiveSource)
    captures, _ = _read(source)
    robots = next(c for c in captures.values() if c.url == "http://www.archive.org/robots.txt")
    assert (robots.via, robots.hops) == ("http://www.archive.org/", "P")
    reader = ArchiveReader(source, "test")
    assert sum(isinstance(found, CaptureRecord) for found in reader) == 299
    assert reader.records == {"warcinfo": 1, "response": 299, "request": 261, "metadata": 261}
    assert reader.position == source.size
