"""dedup-cdx compared with sort and mawk, polars and DuckDB, on a sorted and a shuffled CDX file.

Makes a CDX file of 11 fields (30 % of its lines are duplicates), runs the
tools on it alternately, checks that all find the same lines, and prints lines
per second, processor time, the peak memory of all processes together, and the
ratio of nwx to the best of the others.

    python -m benchmarks.dedup_cdx --lines 10000000
"""

import argparse
import base64
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process_family import FamilyWatch

HEADER = " CDX N b a m s k r M S V g\n"
MIME = ("text/html",) * 6 + ("image/jpeg", "image/png", "application/javascript", "text/css")
TOP_LEVELS = ("com", "de", "dk", "fr", "net", "org")
PAGES_A_SITE = 400

MAWK = """/^ CDX/ { next }
{ if ($1 != urlkey) { delete seen; urlkey = $1 }
  key = $3 " " $6
  if (key in seen) print $2, $6, $3
  seen[key] = 1 }"""

POLARS = """
import sys, polars as pl
source, output, order, how = sys.argv[1:]
names = ["urlkey", "date", "url", "mime", "status", "digest", "r", "m", "size", "place", "file"]
lines = pl.scan_csv(
    source, separator=" ", has_header=False, skip_rows=1,
    new_columns=names, quote_char=None, schema_overrides=[pl.String] * 11,
).select("date", "digest", "url")
if order == "shuffled":
    lines = lines.sort("date")
key = pl.struct("url", "digest")
key = key.hash() if how == "hash" else key
lines.filter(~key.is_first_distinct()).sink_csv(output, separator=" ", include_header=False,
    quote_style="never", engine="streaming")
"""

DUCKDB = """
import sys, duckdb
source, output, folder = sys.argv[1:]
names = ["urlkey", "date", "url", "mime", "status", "digest", "r", "m", "size", "place", "file"]
columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
connection = duckdb.connect(config={"temp_directory": folder, "memory_limit": "4GB",
    "preserve_insertion_order": False})
connection.execute("SET enable_progress_bar = false")
connection.execute(f'''
    COPY (
        SELECT date, digest, url FROM read_csv('{source}', delim=' ', header=false, quote='',
            escape='', skip=1, auto_detect=false, columns={{{columns}}})
        QUALIFY row_number() OVER (PARTITION BY url, digest ORDER BY date) > 1
    ) TO '{output}' (DELIMITER ' ', HEADER false, QUOTE '', ESCAPE '')''')
"""


def made_lines(count: int) -> Iterator[str]:
    """Yield CDX lines in byte order."""
    chance = random.Random(7)
    days = [
        f"{year}{month:02}{day:02}"
        for year in range(2015, 2025)
        for month in range(1, 13)
        for day in range(1, 29)
    ]
    sites = count // len(TOP_LEVELS) // PAGES_A_SITE + 1
    made = 0
    for top in TOP_LEVELS:
        for site in range(sites):
            for page in range(PAGES_A_SITE):
                for line in _captures(chance, days, top, f"site{site:06}", page):
                    if made == count:
                        return
                    yield line
                    made += 1


def _captures(
    chance: random.Random, days: list[str], top: str, site: str, page: int
) -> Iterator[str]:
    path = f"archive/{page:04}/page-{page * 7919 % 10007:05}.html"
    number = 1 if chance.random() < 0.55 else 2 + int(chance.random() * chance.random() * 7)
    dates = sorted(
        f"{day}{second // 3600:02}{second // 60 % 60:02}{second % 60:02}"
        for day in chance.choices(days, k=number)
        for second in (int(chance.random() * 86400),)
    )
    digests: list[str] = []
    for date in dates:
        lot = chance.random()
        if digests and lot < 0.6:
            digest = digests[-1] if lot < 0.52 else digests[0]
        else:
            digest = base64.b32encode(chance.randbytes(20)).decode()
            digests.append(digest)
        mime = MIME[int(chance.random() * len(MIME))]
        length, offset = int(chance.random() * 60000) + 300, int(chance.random() * 1e9)
        yield (
            f"{top},{site})/{path} {date} https://www.{site}.{top}/{path} {mime} 200 {digest}"
            f" - - {length} {offset} CRAWL-{date[:8]}-{page % 64:03}.warc.gz\n"
        )


def make(path: Path, count: int) -> None:
    """Write the sorted file."""
    with path.open("w", buffering=1 << 20) as stream:
        stream.write(HEADER)
        stream.writelines(made_lines(count))


def shuffle(source: Path, target: Path) -> None:
    """Write the lines of a file in random order, with bounded memory by partitioning first."""
    chance = random.Random(8)
    parts = max(1, source.stat().st_size >> 29)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        paths = [Path(folder) / str(number) for number in range(parts)]
        streams = [path.open("wb", buffering=1 << 18) for path in paths]
        with source.open("rb") as stream:
            stream.readline()
            for line in stream:
                streams[int(chance.random() * parts)].write(line)
        with target.open("wb") as output:
            output.write(HEADER.encode())
            for part, path in zip(streams, paths, strict=True):
                part.close()
                lines = path.read_bytes().splitlines(keepends=True)
                chance.shuffle(lines)
                output.writelines(lines)
                path.unlink()


@dataclass(frozen=True)
class Figure:
    """The times and the result of a run."""

    name: str
    seconds: float
    processor_seconds: float
    peak_mb: float
    found: tuple[int, str]


def run(name: str, command: list[str], output: Path) -> Figure:
    """Run a command and return its figures; its output is checked and removed."""
    begun = time.perf_counter()
    process = subprocess.Popen(command)
    watch = FamilyWatch(process.pid)
    if process.wait():
        sys.exit(f"{name} failed")
    seconds = time.perf_counter() - begun
    watch.stop()
    found = fingerprint(output)
    output.unlink()
    return Figure(name, seconds, watch.processor, watch.memory / 1e6, found)


def warm(path: Path) -> None:
    """Read a file, so that the system's cache is equal for all tools."""
    with path.open("rb", buffering=0) as stream:
        while stream.read(1 << 22):
            pass


def fingerprint(path: Path) -> tuple[int, str]:
    """Return the number of lines in a file, and an order-independent checksum."""
    total = count = 0
    with path.open("rb") as stream:
        for line in stream:
            total += int.from_bytes(hashlib.blake2b(line, digest_size=16).digest(), "big")
            count += 1
    return count, f"{total & (1 << 128) - 1:032x}"


def commands(source: Path, order: str, folder: Path) -> Iterator[tuple[str, list[str], Path]]:
    """Yield the name, the command and the output of each tool."""
    python, output = sys.executable, folder / "output"
    nwx = [str(Path(python).parent / "nwx"), "dedup-cdx", str(source), "-o", str(output), "--quiet"]
    nwx += ["--tmp", str(folder)]
    awk = shutil.which("mawk") or "awk"
    if order == "sorted":
        peer = f"LC_ALL=C {awk} '{MAWK}' {source} > {output}"
    else:
        sort = f"sort -S 2G --parallel=2 -T {folder} {source}"
        peer = f"export LC_ALL=C; {sort} | {awk} '{MAWK}' > {output}"
    yield "nwx", nwx, output
    yield ("mawk" if order == "sorted" else "sort, mawk"), ["sh", "-c", peer], output
    polars = [python, "-c", POLARS, str(source), str(output), order]
    yield "polars", [*polars, "exact"], output
    # by a 64-bit hash only: captures with a hash collision would count as one
    yield "polars, hash", [*polars, "hash"], output
    yield "DuckDB", [python, "-c", DUCKDB, str(source), str(output), str(folder)], output


def compare(source: Path, order: str, lines: int, folder: Path, repeats: int, only: str) -> bool:
    """Run all tools on a file, print their figures, and return whether all agree."""
    best: dict[str, Figure] = {}
    for _ in range(repeats):
        for name, command, output in commands(source, order, folder):
            if only and not any(part in name for part in only.split(",")):
                continue
            warm(source)
            figure = run(name, command, output)
            if name not in best or figure.seconds < best[name].seconds:
                best[name] = figure
    size = source.stat().st_size / 1e9
    print(f"\n{lines:,} lines {order}, {size:.2f} GB, {os.cpu_count()} processors")
    print(f"{'':12}{'seconds':>9}{'lines/s':>12}{'CPU s':>8}{'peak MB':>9}{'duplicates':>13}")
    for figure in best.values():
        print(
            f"{figure.name:12}{figure.seconds:9.2f}{lines / figure.seconds:12,.0f}"
            f"{figure.processor_seconds:8.1f}{figure.peak_mb:9.0f}{figure.found[0]:13,}"
        )
    peers = [figure.seconds for figure in best.values() if figure.name != "nwx"]
    if peers and "nwx" in best:
        print(f"nwx is {min(peers) / best['nwx'].seconds:.2f} times as fast as the best other")
    agree = len({figure.found for figure in best.values()}) == 1
    print("all found the same lines" if agree else "THE LINES FOUND DIFFER")
    return agree


def main() -> None:
    """Make the files, run the tools, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--orders", default="sorted,shuffled")
    parser.add_argument("--only", default="", help="names of tools, with commas between")
    parser.add_argument("--folder", type=Path, help="where files go, and stay to be used again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        kept = given.folder or Path(temporary)
        sources = {order: kept / f"{order}-{given.lines}.cdx" for order in ("sorted", "shuffled")}
        if not sources["sorted"].exists():
            make(sources["sorted"], given.lines)
        agree = True
        for order in given.orders.split(","):
            if not sources[order].exists():
                shuffle(sources["sorted"], sources[order])
            folder = Path(temporary)
            repeats, only = given.repeats, given.only
            agree &= compare(sources[order], order, given.lines, folder, repeats, only)
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
