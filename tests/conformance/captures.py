"""Captures for the tests of the CDX server, and sources of each kind that contain them."""

import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import REVISIT, CdxRow, format_cdx, format_cdxj
from nwx.cdxserver.sources import EngineSource, RowSource, open_sources
from nwx.model import Batch, Capture
from tests.conformance.archive import COLLECTION, capture
from tests.conformance.engines import new_archive

KINDS = ("embedded", "elastic", "cdx", "cdxj", "zipnum", "several")


def _home() -> Iterator[Capture]:
    """Yield the history of a page: versions, their revisits, and errors in between."""
    kinds = (
        ("20050101000000", "one", "response", 200, "text/html"),
        ("20060101000000", "one", "revisit", 200, ""),
        ("20060102000000", "two", "response", 200, "text/html"),
        ("20060102000005", "two", "revisit", 200, ""),
        ("20070601120000", "lost", "response", 404, "text/html"),
        ("20080601120000", "moved", "response", 301, "text/plain"),
        ("20090601120000", "three", "response", 200, "application/xhtml+xml"),
        ("20100601120000", "three", "revisit", 200, ""),
        ("20110601120000", "three", "revisit", None, ""),
    )
    for number, (time, body, kind, status, mime) in enumerate(kinds):
        yield capture(
            "http://www.example.org/",
            time,
            body=body,
            offset=1000 * number,
            record_type=kind,
            status=status,
            content_type=mime,
            redirect_to="http://www.example.org/new" if status == 301 else "",
        )


def _others() -> Iterator[Capture]:
    places = (
        "http://example.org/a?b=1&a=2",
        "http://example.org/a/",
        "http://example.org/ab",
        "http://example.org/é",
        "http://example.org:8080/a",
        "http://sub.example.org/a",
        "http://deep.sub.example.org/",
        "http://example-not.org/a",
        "http://examplf.org/",
        "http://example.net/image.png",
    )
    for number, url in enumerate(places):
        for year in (2008, 2012):
            yield capture(
                url,
                f"{year}0203040506",
                body=f"{url} {year}",
                offset=10 * number + year % 10,
                source_file="b.warc.gz",
                content_type="image/png" if url.endswith("png") else "text/html",
            )


CAPTURES = sorted(
    (*_home(), *_others()), key=lambda one: (one.urlkey.encode(), one.timestamp, one.source_file)
)


def line_of(one: Capture) -> CdxRow:
    """Return the CDX line of a capture."""
    revisit = one.record_type == "revisit"
    return CdxRow(
        urlkey=one.urlkey,
        timestamp=one.timestamp,
        url=one.url,
        mime=REVISIT if revisit else one.content_type,
        status="" if one.status_code is None else str(one.status_code),
        digest=one.digest,
        redirect=one.redirect_to,
        length=NO_VALUE if one.record_length is None else str(one.record_length),
        offset=str(one.source_file_offset),
        filename=one.source_file,
    )


def cdx_lines(captures: Sequence[Capture]) -> list[bytes]:
    """Return sorted CDX lines of eleven fields; digests have no algorithm name."""
    lines = (format_cdx(line_of(one)).replace("sha1:", "") for one in captures)
    return sorted(line.encode() for line in lines)


def write_cluster(folder: Path, lines: Sequence[bytes], size: int = 5) -> Path:
    """Write lines as a ZipNum cluster with blocks of `size` lines."""
    folder.mkdir(parents=True, exist_ok=True)
    blocks, index = b"", b""
    for number, start in enumerate(range(0, len(lines), size), 1):
        block = gzip.compress(b"\n".join(lines[start : start + size]) + b"\n", mtime=0)
        key = b" ".join(lines[start].split(b" ")[:2])
        index += b"%s\tpart\t%d\t%d\t%d\n" % (key, len(blocks), len(block), number)
        blocks += block
    (folder / "part.gz").write_bytes(blocks)
    (folder / "cluster.idx").write_bytes(index)
    (folder / "cluster.loc").write_bytes(b"part\tpart.gz\n")
    return folder


@contextmanager
def sources(
    kind: str, captures: Sequence[Capture], folder: Path, request: pytest.FixtureRequest
) -> Iterator[list[RowSource]]:
    """Yield sources of a kind that contain the captures; in `several` some occur twice."""
    if kind in ("embedded", "elastic"):
        with new_archive(kind, folder, request) as opener, opener() as engine:
            engine.create()
            engine.write(Batch(captures=tuple(captures)))
            engine.refresh()
            yield [EngineSource(engine)]
    elif kind == "several":
        with sources("embedded", captures[::2], folder, request) as first:
            (folder / "other.cdxj").write_bytes(_cdxj(captures[len(captures) // 2 :]))
            cluster = write_cluster(folder / "cluster", cdx_lines(captures[: len(captures) // 2]))
            more = open_sources(
                [f"{COLLECTION}={folder / 'other.cdxj'}", f"{COLLECTION}={cluster}"]
            )
            yield [*first, *more]
            for source in more:
                source.close()
    else:
        (source,) = open_sources([f"{COLLECTION}={_written(kind, captures, folder)}"])
        yield [source]
        source.close()


def _written(kind: str, captures: Sequence[Capture], folder: Path) -> Path:
    if kind == "zipnum":
        return write_cluster(folder / "cluster", cdx_lines(captures))
    path = folder / f"index.{kind}"
    if kind == "cdxj":
        path.write_bytes(_cdxj(captures))
    else:
        head = b" CDX N b a m s k r M S V g\n"
        path.write_bytes(head + b"".join(line + b"\n" for line in cdx_lines(captures)))
    return path


def _cdxj(captures: Sequence[Capture]) -> bytes:
    lines = sorted(format_cdxj(line_of(one)).encode() + b"\n" for one in captures)
    return b"".join(lines)
