"""The host index: a row for each host and month, with the host's place in the link graph."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import parquet_bytes, whole_folder
from nwx.engine.base import Engine
from nwx.errors import NotBuiltError
from nwx.exports.cc_index_files import DocumentLanguages
from nwx.exports.links import graph_tables
from nwx.links.archive_links import ArchiveLinks
from nwx.links.host_graph import centrality
from nwx.model import Capture, IndexName
from nwx.values.urls import host_of_urlkey

_CAPTURES_AT_ONCE = 30_000
_FILE_ROWS = 100_000
_COUNTS = pl.List(pl.Struct({"value": pl.String, "captures": pl.Int64}))

HOST_SCHEMA: dict[str, Any] = {
    "host": pl.String,
    "domain": pl.String,
    "month": pl.String,
    "captures": pl.Int64,
    "documents": pl.Int64,
    "bytes": pl.Int64,
    "statuses": _COUNTS,
    "types": _COUNTS,
    "languages": _COUNTS,
    "robots": pl.Boolean,
    "sitemap": pl.Boolean,
    "pagerank": pl.Float64,
    "harmonic": pl.Float64,
}
"""The columns. `month` is 2013-01, `documents` counts different ones, `bytes` are of payloads."""


@dataclass(frozen=True, slots=True)
class HostExportReport:
    """The counts of an export of hosts."""

    rows: int
    files: int
    bytes: int
    seconds: float


@dataclass(slots=True)
class _HostMonth:
    """The counts of a host in a month."""

    domain: str
    captures: int = 0
    bytes: int = 0
    documents: set[str] = field(default_factory=set)
    statuses: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    robots: bool = False
    sitemap: bool = False

    def add(self, capture: Capture, language: str) -> None:
        self.captures += 1
        self.bytes += capture.content_length or 0
        if capture.document_id:
            self.documents.add(capture.document_id)
        self.statuses["" if capture.status_code is None else str(capture.status_code)] += 1
        self.types[capture.content_type_norm] += 1
        if language:
            self.languages[language] += 1
        path = urlsplit(capture.url).path.lower() if "t" in capture.url else ""
        self.robots = self.robots or path == "/robots.txt"
        is_sitemap = path.startswith("/sitemap") and path.endswith((".xml", ".xml.gz", ".txt"))
        self.sitemap = self.sitemap or is_sitemap


def export_hosts(
    engine: Engine, folder: Path, progress: ShowProgress = no_progress
) -> HostExportReport:
    """Write a row for each host and month as Parquet into a new folder.

    Without inverted links `pagerank` and `harmonic` are null. Raises SourceError if the folder
    exists or cannot be written.
    """
    began = time.monotonic()
    rows, files = 0, 0
    with whole_folder(folder) as new:
        found = host_rows(engine, progress)
        while some := list(islice(found, _FILE_ROWS)):
            frame = pl.DataFrame(some, HOST_SCHEMA, orient="row")
            (new / f"part-{files:05}.parquet").write_bytes(parquet_bytes(frame))
            rows, files = rows + len(frame), files + 1
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    return HostExportReport(rows, files, size, time.monotonic() - began)


def host_rows(engine: Engine, progress: ShowProgress = no_progress) -> Iterator[tuple[Any, ...]]:
    """Yield the rows by host and month, in the order of the hosts' urlkeys.

    The counts of the hosts of one urlkey, such as `example.org` and `www.example.org`, are held;
    the link graph has them as one.
    """
    ranks = _ranks(engine)
    unranked = None, None
    of_keys = groupby(_with_languages(engine, progress), lambda one: _key_host(one[0]))
    for key_host, captures in of_keys:
        found: dict[tuple[str, str], _HostMonth] = {}
        for one, language in captures:
            place = one.host, f"{one.timestamp[:4]}-{one.timestamp[4:6]}"
            if place not in found:
                found[place] = _HostMonth(one.domain)
            found[place].add(one, language)
        for (host, month), made in sorted(found.items()):
            counts = made.captures, len(made.documents), made.bytes
            values = map(_counted, (made.statuses, made.types, made.languages))
            signs = made.robots, made.sitemap, *ranks.get(key_host, unranked)
            yield (host, made.domain, month, *counts, *values, *signs)


def _key_host(capture: Capture) -> str:
    return host_of_urlkey(capture.urlkey)


def _counted(counts: Counter[str]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [{"value": value, "captures": count} for value, count in ordered]


def _with_languages(engine: Engine, progress: ShowProgress) -> Iterator[tuple[Capture, str]]:
    languages = DocumentLanguages(engine)
    captures = engine.captures("", chr(0x10FFFF))
    done, total = 0, engine.count(IndexName.CAPTURES)
    while some := list(islice(captures, _CAPTURES_AT_ONCE)):
        yield from zip(some, languages.of_captures(some), strict=True)
        done += len(some)
        progress(WorkProgress("counting hosts", done, total))


def _ranks(engine: Engine) -> Mapping[str, tuple[float, float]]:
    """Return PageRank and harmonic centrality of the hosts, none where links are not inverted."""
    try:
        graph = ArchiveLinks(engine).host_graph()
    except NotBuiltError:
        return {}
    places = graph_tables("host", graph, centrality(graph)).places
    columns = (places[name].to_list() for name in ("host", "pagerank", "harmonic"))
    return {host: (rank, harmonic) for host, rank, harmonic in zip(*columns, strict=True)}
