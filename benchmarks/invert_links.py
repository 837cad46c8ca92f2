"""Inverting links with nwx and with DuckDB, on the same documents and cells.

Makes random documents with Zipf-distributed links as Parquet. Both count for
each linked URL, in total, by year, by collection and by both, the distinct
linking pages, hosts and domains, the first and last date, and the anchor
texts, and store the links ordered by target. DuckDB is given urlkeys, hosts
and domains; nwx computes them from URLs. Each runs in a separate process, and
both must find the same. Then 1 % more documents are added to the build of nwx.

    python -m benchmarks.invert_links --documents 1000000 --links 50
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

MEMORY = "2GB"
AT_ONCE = 20_000
HOSTS = 20_000
YEARS = range(2008, 2013)
COLLECTIONS = ("news", "web")
WORDS = ("annual", "report", "home", "read", "more", "news", "press", "contact", "archive", "map")

ROWS = """
CREATE VIEW rows AS SELECT source, source_host, source_domain, timestamp,
    substr(timestamp, 1, 4) AS year, collection,
    unnest(target_keys) AS target, unnest(texts) AS anchor
FROM read_parquet('{files}')
"""
CELLS = """
CREATE TABLE cells AS SELECT target, year, collection, count(DISTINCT source) AS documents,
    count(DISTINCT source_host) AS hosts, count(DISTINCT source_domain) AS domains,
    min(timestamp) AS first, max(timestamp) AS last
FROM rows WHERE source <> target
GROUP BY GROUPING SETS ((target), (target, year), (target, collection), (target, year, collection))
"""
ANCHORS = """
CREATE TABLE anchors AS SELECT target, anchor, count(DISTINCT source) AS documents,
    count(DISTINCT source_host) AS hosts
FROM rows WHERE source <> target GROUP BY target, anchor
"""
LINKS = "CREATE TABLE links AS SELECT * FROM rows ORDER BY target, source"


def write_documents(folder: Path, first: int, count: int, links: int, targets: int) -> None:
    """Write documents as Parquet files: URL, urlkey, date, and lists of links and texts."""
    folder.mkdir(parents=True, exist_ok=True)
    for begin in range(first, first + count, AT_ONCE):
        size = min(AT_ONCE, first + count - begin)
        chance = np.random.default_rng(begin)
        numbers = np.arange(begin, begin + size)
        drawn = np.exp(chance.random(size * links) * np.log(targets)).astype(np.int64)
        texts = drawn % 997 * 8 + chance.integers(0, 8, len(drawn)) ** 2 // 8
        pages = pl.DataFrame({"page": numbers}).with_columns(**_page(numbers, chance))
        flat = pl.DataFrame(
            {
                "page": np.repeat(numbers, links),
                "target": drawn,
                "text": texts,
            }
        )
        lists = _with_links(flat).group_by("page", maintain_order=True).agg(pl.all())
        pages.join(lists, on="page").write_parquet(folder / f"{begin:09d}.parquet")


def _page(numbers: Any, chance: Any) -> dict[str, pl.Expr | pl.Series]:
    years = chance.integers(YEARS.start, YEARS.stop, len(numbers))
    days = chance.integers(1, 28, len(numbers))
    hosts = numbers * 7919 % HOSTS
    places = list(zip(numbers, hosts, strict=True))
    return {
        "url": pl.Series([f"http://www.site{h}.org/page/{n}.html" for n, h in places]),
        "source": pl.Series([f"org,site{h})/page/{n}.html" for n, h in places]),
        "source_host": pl.Series([f"site{h}.org" for h in hosts]),
        "source_domain": pl.Series([f"site{h}.org" for h in hosts]),
        "timestamp": pl.Series([f"{y}01{d:02}000000" for y, d in zip(years, days, strict=True)]),
        "collection": pl.Series([COLLECTIONS[n % 2] for n in numbers]),
    }


def _with_links(flat: pl.DataFrame) -> pl.DataFrame:
    host, number = pl.col("target") * 7919 % HOSTS, pl.col("target")
    words = pl.Series(WORDS)
    return flat.select(
        "page",
        links=pl.format("http://www.site{}.org/page/{}.html", host, number),
        target_keys=pl.format("org,site{})/page/{}.html", host, number),
        texts=pl.format(
            "{} {} {}",
            words.gather(flat["text"] % 10),
            words.gather(flat["text"] // 10 % 10),
            pl.col("text"),
        ),
    )


class ParquetDocuments:
    """The documents in a folder of Parquet files, with the interface of an archive."""

    def __init__(self, folder: Path, store: Path) -> None:
        from nwx.engine.facet_store import BlobFolder

        self._folder = folder
        self._blobs = BlobFolder(store)
        self.folder = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)

    def __enter__(self) -> "ParquetDocuments":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def inlink_index(self) -> "ParquetDocuments":
        return self

    def stamp(self) -> str:
        return str(len(list(self._folder.iterdir())))

    def document_states(self) -> Iterator[Any]:
        from nwx.engine.inlinks.inlink_index import DocumentStates

        for file in sorted(self._folder.iterdir()):
            pages = pl.read_parquet(file, columns=["page"])["page"].to_list()
            ids = b"".join(page.to_bytes(16, "big") for page in pages)
            yield DocumentStates(ids, np.ones(len(pages), dtype=np.uint64))

    def linking_documents(self, ids: Any) -> Iterator[Any]:
        from nwx.engine.inlinks.inlink_index import LinkingDocument

        numbers = [int.from_bytes(id, "big") for id in ids]
        files = dict.fromkeys(self._file(number) for number in numbers)
        columns = ["page", "url", "source", "links", "texts", "timestamp", "collection"]
        for file in files:
            found = pl.read_parquet(file, columns=columns)
            found = found.filter(pl.col("page").is_in(numbers))
            for page, url, key, links, texts, timestamp, collection in found.iter_rows():
                id = page.to_bytes(16, "big")
                kinds = ["a"] * len(links)
                yield LinkingDocument(id, url, key, links, texts, kinds, [(timestamp, collection)])

    def _file(self, number: int) -> Path:
        starts = self._starts = getattr(self, "_starts", None) or sorted(
            int(file.stem) for file in self._folder.iterdir()
        )
        return self._folder / f"{max(one for one in starts if one <= number):09d}.parquet"


def nwx(data: Path, work: Path) -> dict[str, Any]:
    """Invert with nwx; return the sums of all counts."""
    from nwx.engine.inlinks.table import inlink_table
    from nwx.links.build import InlinkBuildOptions, invert_links

    engine: Any = ParquetDocuments(data, work / "inlinks")
    reopen: Any = partial(ParquetDocuments, data, work / "inlinks")
    began = time.monotonic()
    report = invert_links(engine, reopen, InlinkBuildOptions(workers=2))
    seconds = time.monotonic() - began
    cpu = _cpu_seconds()
    table = inlink_table(engine)
    assert table is not None
    sums = dict.fromkeys(("cells", "documents", "hosts", "domains"), 0)
    for number in range(len(table.notes.ranges)):
        arrays = table.range(number).arrays
        sums["cells"] += len(arrays["count_cell"])
        for name in ("documents", "hosts", "domains"):
            sums[name] += int(arrays[f"count_{name}"].sum(dtype=np.int64))
    return {"seconds": seconds, "cpu": cpu, "links": report.links, "sums": sums}


def duckdb(data: Path, work: Path) -> dict[str, Any]:
    """Count with DuckDB; return the sums of all counts."""
    import duckdb

    settings = {"memory_limit": MEMORY, "temp_directory": str(work / "spill"), "threads": 2}
    began = time.monotonic()
    connection = duckdb.connect(str(work / "links.db"), config=settings)
    connection.execute(ROWS.format(files=f"{data}/*.parquet"))
    for command in (CELLS, ANCHORS, LINKS):
        connection.execute(command)
        print(command.split()[2], round(time.monotonic() - began, 1), file=sys.stderr)
    seconds = time.monotonic() - began
    row = connection.execute(
        "SELECT count(*), sum(documents), sum(hosts), sum(domains) FROM cells"
    ).fetchone()
    names = ("cells", "documents", "hosts", "domains")
    sums = dict(zip(names, map(int, row or ()), strict=True))
    (links,) = connection.execute("SELECT count(*) FROM links").fetchone() or (0,)
    return {"seconds": seconds, "cpu": _cpu_seconds(), "links": links, "sums": sums}


WAYS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {"nwx": nwx, "duckdb": duckdb}


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(way: str, data: Path, work: Path) -> dict[str, Any]:
    """Return the figures and sums of one way, run in a separate process."""
    command = [sys.executable, "-m", "benchmarks.invert_links", "--one", way]
    command += ["--data", str(data), "--work", str(work)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = _peak_bytes(process)
    output = process.stdout.read() if process.stdout else ""
    if process.wait():
        raise SystemExit(f"{way} failed")
    found: dict[str, Any] = json.loads(output)
    return found | {"peak_mb": peak / 1e6}


def _peak_bytes(process: "subprocess.Popen[str]") -> int:
    """Return the peak of the private memory of a process and its children together."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_held_bytes, _family(process.pid))))
        time.sleep(0.25)
    return peak


def _family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        found = [int(one) for one in children.read_text().split()]
    except OSError:
        return []
    return [pid, *(each for child in found for each in _family(child))]


def _held_bytes(pid: int) -> int:
    """Return the anonymous memory of a process: mapped files can be evicted."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024


def show(name: str, found: dict[str, Any]) -> None:
    """Print a line of the result."""
    print(
        f"{name:18} {found['seconds']:8.1f} s {found['cpu']:8.1f} s CPU"
        f" {found['peak_mb']:8.0f} MB {found['links']:12,} links",
        flush=True,
    )


def compare(folder: Path, documents: int, links: int, skip: list[str]) -> None:
    """Run both on the same documents, then add 1 % to the build of nwx."""
    data = folder / "documents"
    targets = documents * 5
    write_documents(data, 0, documents, links, targets)
    print(f"{documents:,} documents with {links} links", flush=True)
    found = {}
    for way in WAYS:
        if way not in skip:
            work = folder / way
            work.mkdir()
            found[way] = measured(way, data, work)
            show(way, found[way])
    if len(found) == len(WAYS):
        one, other = found.values()
        same = one["sums"] == other["sums"]
        print("both found the same" if same else f"they differ: {one['sums']} {other['sums']}")
        for name in ("seconds", "cpu", "peak_mb"):
            print(f"{name}: duckdb takes {found['duckdb'][name] / found['nwx'][name]:.2f} times")
    if "nwx" in found:
        write_documents(data, documents, documents // 100, links, targets)
        added = measured("nwx", data, folder / "nwx")
        show("nwx, 1 % more", added)
        print(f"adding takes {added['cpu'] / found['nwx']['cpu']:.1%} of the CPU of the whole")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--tmp", type=Path)
    parser.add_argument("--skip", nargs="*", default=[], choices=WAYS)
    parser.add_argument("--one", choices=WAYS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(WAYS[arguments.one](arguments.data, arguments.work)))
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "2")
    with tempfile.TemporaryDirectory(dir=arguments.tmp) as name:
        compare(Path(name), arguments.documents, arguments.links, arguments.skip)


if __name__ == "__main__":
    main()
