"""The host index: counts and centrality of each host by month, or in total."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import parquet_bytes, whole_folder
from nwx.captures import CaptureColumns
from nwx.engine.base import Engine
from nwx.errors import NotBuiltError
from nwx.exports.cc_index_files import DocumentLanguages
from nwx.exports.links import graph_tables
from nwx.links.archive_links import ArchiveLinks
from nwx.links.host_graph import centrality
from nwx.model import IndexName
from nwx.values.urls import host_of_urlkey

_FILE_ROWS = 100_000
_MOST_CELLS = 100_000
_COUNTS = pl.List(pl.Struct({"value": pl.String, "captures": pl.Int64}))
_COUNTED = {"status": "statuses", "type": "types", "language": "languages"}
_FIELDS = {
    "urlkey": "urlkey",
    "url": "url",
    "host": "host",
    "domain": "domain",
    "month": "timestamp",
    "digest": "digest",
    "status": "status_code",
    "type": "content_type_norm",
    "bytes": "content_length",
    "record": "record_type",
}
_PAYLOAD = ("url", "digest", "type", "bytes", "record")
_IS_REVISIT = pl.col("record") == "revisit"
_IDS = {
    "by_digest": pl.col("digest").hash(),
    "by_both": pl.struct("url", "digest").hash(),
}
"""The look-up keys of payloads, the more specific one last."""
_CELL = ("site", "key_host", "host", "domain", "month", *_COUNTED)
_SITE = r"^([^,)]*,?[^,):]*)"
_TEXT_PATH = r"^[^:]+://[^/?#]*(/[^?#]*)"

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
"""The columns. `month` is like 2013-01, `documents` counts distinct ones, `bytes` of payloads.

A revisit has the type and the bytes of the payload that it refers to, as in facets.
"""


@dataclass(frozen=True, slots=True)
class HostExportReport:
    """The counts of an export of hosts."""

    rows: int
    files: int
    bytes: int
    seconds: float


def export_hosts(
    engine: Engine, folder: Path, progress: ShowProgress = no_progress
) -> HostExportReport:
    """Write a row for each host and month as Parquet into a new folder.

    `pagerank` and `harmonic` are null without inverted links. Raises SourceError if the folder
    exists or cannot be written.
    """
    began = time.monotonic()
    rows, files = 0, 0
    held: list[pl.DataFrame] = []

    def write(new: Path) -> None:
        nonlocal rows, files
        frame = pl.concat(held)
        held.clear()
        (new / f"part-{files:05}.parquet").write_bytes(parquet_bytes(frame))
        rows, files = rows + len(frame), files + 1

    with whole_folder(folder) as new:
        for frame in host_frames(engine, progress):
            held.append(frame.select(HOST_SCHEMA.keys()))
            if sum(map(len, held)) >= _FILE_ROWS:
                write(new)
        if held:
            write(new)
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    return HostExportReport(rows, files, size, time.monotonic() - began)


def host_frames(
    engine: Engine, progress: ShowProgress = no_progress, *, by_month: bool = True
) -> Iterator[pl.DataFrame]:
    """Yield rows of HOST_SCHEMA by host and month, or by host with a list `months` of counts.

    Rows are ordered by site, host and month. Captures without a host, such as those of `urn:`, and
    DNS records are not counted. Memory holds the counts of one site and the documents of one URL:
    hosts with ports are not adjacent in the order of urlkeys, but in the same site.
    """
    ranks = _ranks(engine)
    for cells in _whole_sites(engine, progress):
        yield _rows(cells, ranks, by_month=by_month)


def hosts_frame(engine: Engine) -> pl.DataFrame:
    """Return the counts of each host: HOST_SCHEMA with `months` instead of `month`."""
    schema = {"months" if name == "month" else name: kind for name, kind in HOST_SCHEMA.items()}
    schema["months"] = _COUNTS
    frames = [one.select(schema.keys()) for one in host_frames(engine, by_month=False)]
    return pl.concat([pl.DataFrame(schema=schema), *frames])


def _whole_sites(engine: Engine, progress: ShowProgress) -> Iterator[pl.DataFrame]:
    """Yield cells of whole sites: counts of captures with the same values in _CELL."""
    languages = DocumentLanguages(engine)
    seen, held = _Seen(), list[pl.DataFrame]()
    payloads = _payloads(engine)
    done, total = 0, engine.count(IndexName.CAPTURES)
    for columns in engine.capture_columns(tuple(_FIELDS.values())):
        done += len(columns["url"])
        captures = _resolved(_captures(columns, languages), payloads)
        cells = _cells(seen.marked(captures))
        progress(WorkProgress("counting hosts", done, total))
        if not len(cells):
            continue
        held.append(cells)
        if sum(map(len, held)) >= _MOST_CELLS:
            merged = _merged(pl.concat(held))
            last = merged["site"] == cells["site"][-1]
            yield merged.filter(~last)
            held = [merged.filter(last)]
    if held:
        yield _merged(pl.concat(held))


def _captures(columns: CaptureColumns, languages: DocumentLanguages) -> pl.DataFrame:
    """Return the captures with a host as a frame."""
    frame = _frame(columns, _FIELDS).with_columns(
        pl.Series("language", languages.of_columns(columns))
    )
    month = pl.col("month").str.slice(0, 4) + "-" + pl.col("month").str.slice(4, 2)
    path = pl.col("url").str.extract(_TEXT_PATH).str.to_lowercase()
    frame = frame.filter((pl.col("host") != "") & pl.col("urlkey").str.contains(")", literal=True))
    return frame.with_columns(
        pl.col("urlkey").str.extract(_SITE).alias("site"),
        pl.col("urlkey").str.extract(r"^([^)]*\))").alias("key_host"),
        month.alias("month"),
        (path == "/robots.txt").fill_null(False).alias("robots"),
        path.str.contains(r"^/sitemap.*(?:\.xml|\.xml\.gz|\.txt)$")
        .fill_null(False)
        .alias("sitemap"),
    )


def _frame(columns: CaptureColumns, names: Iterable[str]) -> pl.DataFrame:
    frame = pl.DataFrame([pl.Series(name, columns[_FIELDS[name]], pl.String) for name in names])
    return frame.with_columns(pl.col("bytes").cast(pl.Int64, strict=False))


def _payloads(engine: Engine) -> dict[str, pl.DataFrame]:
    """Return the payloads that revisits may refer to: by digest, and by digest and URL.

    The largest of several counts, as in facets.
    """
    fields = tuple(_FIELDS[name] for name in _PAYLOAD)
    wanted, found = list[pl.DataFrame](), list[pl.DataFrame]()
    for columns in engine.capture_columns(fields):
        revisits = _frame(columns, _PAYLOAD).filter(_IS_REVISIT, pl.col("digest") != "")
        wanted.append(revisits.select(**_IDS).select("by_digest").unique())
    digests = pl.concat(wanted).unique() if wanted else pl.DataFrame()
    if not len(digests):
        return {}
    for columns in engine.capture_columns(fields):
        originals = _frame(columns, _PAYLOAD).filter(~_IS_REVISIT, pl.col("digest") != "")
        some = originals.select(**_IDS, held_type="type", held_bytes="bytes")
        found.append(some.join(digests, on="by_digest", how="semi").unique())
    is_unknown = pl.col("held_type") == ""
    order = [pl.col("held_bytes").fill_null(-1) * -1, is_unknown, pl.col("held_type")]
    best = pl.concat(found).sort(order)
    return {
        key: best.select(key, "held_type", "held_bytes").unique(key, keep="first") for key in _IDS
    }


def _resolved(frame: pl.DataFrame, payloads: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return captures in which revisits have the known types and bytes of their payloads."""
    for key, held in payloads.items():
        both = frame.with_columns(_IDS[key].alias(key)).join(
            held, on=key, how="left", maintain_order="left"
        )
        is_typed = _IS_REVISIT & (pl.col("held_type") != "").fill_null(False)
        is_sized = _IS_REVISIT & pl.col("held_bytes").is_not_null()
        frame = both.with_columns(
            pl.when(is_typed).then("held_type").otherwise("type").alias("type"),
            pl.when(is_sized).then("held_bytes").otherwise("bytes").alias("bytes"),
        ).drop(key, "held_type", "held_bytes")
    return frame.with_columns(pl.col("bytes").fill_null(0))


class _Seen:
    """Marks the first capture of each document per month and in total, across frames."""

    def __init__(self) -> None:
        # The captures of the last urlkey, which may continue in the next frame.
        self._known = pl.DataFrame(
            schema={"urlkey": pl.String, "month": pl.String, "id": pl.UInt64}
        )

    def marked(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with `documents` and `versions`: 1 for firsts per month and in total."""
        if not len(frame):
            return frame.with_columns(documents=pl.lit(0), versions=pl.lit(0))
        frame = frame.with_columns(pl.struct("url", "digest").hash().alias("id"))
        keyed = frame.select("urlkey", "month", "id")
        both = pl.concat([self._known, keyed])
        firsts = both.select(
            pl.struct("urlkey", "month", "id").is_first_distinct().alias("documents"),
            pl.struct("urlkey", "id").is_first_distinct().alias("versions"),
        ).tail(len(frame))
        self._known = both.filter(pl.col("urlkey") == frame["urlkey"][-1]).unique(
            maintain_order=True
        )
        has_digest = frame["digest"] != ""
        return frame.with_columns(
            (firsts[name] & has_digest).cast(pl.Int64).alias(name) for name in firsts.columns
        )


_SUMS = ("captures", "documents", "versions", "bytes")
_SIGNS = ("robots", "sitemap")


def _cells(frame: pl.DataFrame) -> pl.DataFrame:
    return _merged(frame.with_columns(captures=pl.lit(1, pl.Int64)))


def _merged(cells: pl.DataFrame, by: Sequence[str] = _CELL) -> pl.DataFrame:
    sums, signs = pl.col(_SUMS).sum(), pl.col(_SIGNS).any()
    return cells.group_by(by, maintain_order=True).agg(sums, signs)


def _rows(
    cells: pl.DataFrame, ranks: Mapping[str, tuple[float, float]], *, by_month: bool
) -> pl.DataFrame:
    place = ["site", "host", "domain", *(["month"] if by_month else [])]
    key = pl.col("key_host").first()
    rows = cells.group_by(place, maintain_order=True).agg(
        pl.col(_SUMS).sum(), pl.col(_SIGNS).any(), key
    )
    if not by_month:
        rows = rows.with_columns(documents="versions")
    columns = _COUNTED if by_month else {**_COUNTED, "month": "months"}
    for name, plural in columns.items():
        rows = rows.join(_counted(cells, place, name, plural), on=place, how="left")
    found = [ranks.get(host_of_urlkey(one), (None, None)) for one in rows["key_host"]]
    central = pl.DataFrame(found, {"pagerank": pl.Float64, "harmonic": pl.Float64}, orient="row")
    return rows.with_columns(
        *central, *(pl.col(name).fill_null(pl.lit([], _COUNTS)) for name in columns.values())
    ).sort("site", *place[1:], maintain_order=True)


def _counted(cells: pl.DataFrame, place: Sequence[str], name: str, plural: str) -> pl.DataFrame:
    """Return the counts of captures by the values of a column, most frequent first."""
    known = cells.filter(pl.col(name) != "") if name == "language" else cells
    counts = known.group_by(*place, pl.col(name).alias("value")).agg(pl.col("captures").sum())
    order = counts.sort("captures", "value", descending=[True, False])
    if name == "month":
        order = counts.sort("value")
    one = pl.struct("value", "captures").alias(plural)
    return order.group_by(place, maintain_order=True).agg(one)


def _ranks(engine: Engine) -> Mapping[str, tuple[float, float]]:
    """Return PageRank and harmonic centrality by host, empty without inverted links."""
    try:
        graph = ArchiveLinks(engine).host_graph()
    except NotBuiltError:
        return {}
    places = graph_tables("host", graph, centrality(graph)).places
    columns = (places[name].to_list() for name in ("host", "pagerank", "harmonic"))
    return {host: (rank, harmonic) for host, rank, harmonic in zip(*columns, strict=True)}
