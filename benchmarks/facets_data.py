"""Random captures, distributed as in real archives, as a Parquet export.

Sites follow Zipf's law; URLs are captured again every month, unchanged three
times in four; a few payloads are on many sites.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.keys import document_id, document_key
from nwx.model import Capture

MONTHS = 12
_WRITTEN_AT_ONCE = 20_000
_TYPES = {"html": 55, "image": 25, "script": 6, "style": 4, "pdf": 3, "text": 3, "video": 1,
          "audio": 1, "flash": 1, "other": 1}  # fmt: skip
_STATUSES = {200: 82, 301: 6, 302: 3, 404: 7, 500: 1, 0: 1}
_TLDS = ("com", "org", "net", "fr", "de", "uk", "dk", "it", "es", "pt")


def sites_of(captures: int) -> int:
    """Return the number of sites for a number of captures."""
    return max(50, captures // 300)


def write_captures(folder: Path, captures: int, seed: int = 1) -> None:
    """Write captures of twelve months, with one folder per month."""
    chance = np.random.default_rng(seed)
    urls = _Urls(chance, captures)
    for month in range(MONTHS):
        target = folder / f"month=2013-{month + 1:02}"
        target.mkdir(parents=True)
        size = captures // MONTHS + (captures % MONTHS if month == 0 else 0)
        for number, rows in enumerate(_pieces(size)):
            frame = urls.captures(month, rows, f"part-{month}-{number}.warc.gz")
            frame.write_parquet(target / f"part-{number:05}.parquet")


def _pieces(size: int) -> Iterator[int]:
    while size > 0:
        yield min(size, 1_000_000)
        size -= 1_000_000


class _Urls:
    """The URLs of an archive, each with a site, a type, and a payload for each month."""

    def __init__(self, chance: np.random.Generator, captures: int) -> None:
        self._chance = chance
        self.size = max(100, captures // 3)
        sites = sites_of(captures)
        weights = 1 / np.arange(1, sites + 1) ** 0.9
        self.site = _drawn(chance, weights, self.size).astype(np.uint32)
        self.tld = (np.arange(sites) * 2654435761 % 2**32 % len(_TLDS)).astype(np.uint8)
        self.kind = _drawn(chance, np.array(list(_TYPES.values())), self.size).astype(np.uint8)
        self.depth = np.minimum(chance.geometric(0.35, self.size) - 1, 30).astype(np.uint8)
        self.payload = np.arange(self.size, dtype=np.uint64)
        shared = chance.random(self.size) < 0.15
        self.payload[shared] = chance.zipf(1.3, int(shared.sum())).astype(np.uint64) % self.size
        self._new = self.size

    def captures(self, month: int, rows: int, file: str) -> pl.DataFrame:
        """Return captures of a month."""
        chance = self._chance
        picked = chance.integers(0, self.size, rows)
        changed = picked[chance.random(rows) < 0.25]
        self.payload[changed] = self._new + np.arange(len(changed))
        self._new += len(changed)
        payload, site = self.payload[picked], self.site[picked]
        size = _sizes(payload)
        status = np.array(list(_STATUSES))[_drawn(chance, np.array(list(_STATUSES.values())), rows)]
        frame = pl.DataFrame(
            {
                "url_number": picked,
                "site": site,
                "tld": self.tld[site],
                "kind": self.kind[picked],
                "fetch_status": status.astype(np.int32),
                "content_length": size,
                "payload": payload,
                "depth": self.depth[picked],
                "day": chance.integers(1, 29, rows),
                "warc_record_offset": np.arange(rows, dtype=np.int64) * 1000,
            }
        )
        return _named(frame, month, file)


def _named(frame: pl.DataFrame, month: int, file: str) -> pl.DataFrame:
    tlds = pl.lit(pl.Series(_TLDS)).gather(pl.col("tld"))
    kinds = pl.lit(pl.Series(list(_TYPES))).gather(pl.col("kind"))
    domain = pl.format("site{}.{}", "site", tlds)
    day = pl.col("day").cast(pl.String).str.zfill(2)
    return frame.select(
        url_surtkey=pl.format("{},site{})/page/{}", tlds, "site", "url_number"),
        url=pl.format("http://www.{}/page/{}", domain, "url_number"),
        url_host_private_domain=domain,
        url_host_private_suffix=tlds,
        timestamp=pl.format(f"2013{month + 1:02}{{}}120000", day),
        fetch_status="fetch_status",
        content_digest=pl.format("sha1:{}", pl.col("payload").cast(pl.String).str.zfill(32)),
        content_type_norm=kinds,
        content_length="content_length",
        warc_filename=pl.lit(file),
        warc_record_offset="warc_record_offset",
        record_type=pl.lit("response"),
        collection=pl.lit("bench"),
        hops=pl.lit("L").repeat_by("depth").list.join(""),
    )


def _sizes(payload: Array) -> Array:
    """Return the bytes of payloads; deterministic."""
    mixed = (payload * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (10 ** (2 + 5 * (mixed / 2**24) ** 1.5)).astype(np.int64)


def _drawn(chance: np.random.Generator, weights: Array, size: int) -> Array:
    ends = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(ends, chance.random(size)), len(weights) - 1)


def read_captures(folder: Path) -> Iterator[list[Capture]]:
    """Yield the captures of such an export in batches, as written by an import."""
    for path in sorted(folder.rglob("*.parquet")):
        for frame in pl.read_parquet(path).iter_slices(_WRITTEN_AT_ONCE):
            yield [_capture(row) for row in frame.iter_rows(named=True)]


def _capture(row: dict[str, Any]) -> Capture:
    domain = row["url_host_private_domain"]
    return Capture(
        collection=row["collection"],
        source_file=row["warc_filename"],
        source_file_offset=row["warc_record_offset"],
        record_length=None,
        record_type=row["record_type"],
        url=row["url"],
        urlkey=row["url_surtkey"],
        host=f"www.{domain}",
        domain=domain,
        public_suffix=row["url_host_private_suffix"],
        timestamp=row["timestamp"],
        digest=row["content_digest"],
        document_id=document_id(document_key(row["url"], row["content_digest"])),
        status_code=row["fetch_status"],
        content_type="",
        content_type_norm=row["content_type_norm"],
        content_length=row["content_length"],
        hops=row["hops"],
    )
