"""Building facet combinations with nwx and DuckDB, from the same captures and groupings.

Makes random captures as Parquet and computes from them, each in a separate
process, all combinations of the 64 groupings with at least --min-captures
captures: captures, unique documents, unique URLs and bytes (nwx also the bytes
of unique documents, and its columns). DuckDB uses GROUPING SETS, and one query
per grouping. All must find the same. Then another month is added, and the
stored combinations are compared with all combinations.

    python -m benchmarks.facets_build --captures 10000000
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.facets_data import write_captures

CRITERIA = ("month", "site", "type", "tld", "size", "depth")
GROUPINGS = [some for size in range(7) for some in combinations(CRITERIA, size)]
MEMORY = "4GB"
SIZES = (1, 1229, 15360, 153600, 1468007, 15728640, 125829120)

COUNTED = """count(*) AS captures, count(DISTINCT document) AS unique_documents,
    count(DISTINCT url) AS unique_urls, sum(size_bytes) AS bytes"""
CAPTURES = """
CREATE VIEW captures AS SELECT
    CASE WHEN fetch_status BETWEEN 200 AND 599
         THEN ['ok', 'redirection', 'request_error', 'server_error'][fetch_status // 100 - 1]
         ELSE 'ignored' END AS status,
    substr(timestamp, 1, 6) AS month, url_host_private_domain AS site,
    content_type_norm AS type, split_part(url_host_private_suffix, '.', -1) AS tld,
    {size} AS size,
    CASE WHEN coalesce(hops, '') = '' THEN -1
         ELSE least(length(hops) - length(replace(hops, 'L', '')), 50) END AS depth,
    content_digest AS document, url, content_length AS size_bytes
FROM read_parquet('{files}', hive_partitioning = false)
"""


def nwx(folder: Path, work: Path, least: int) -> dict[str, Any]:
    """Build with nwx; return the number of combinations and the sum of all their features."""
    from nwx.engine.facet_store import BlobFolder
    from nwx.facets.build import FacetBuildOptions, build_facets
    from nwx.facets.sources import ParquetSource

    options = FacetBuildOptions(min_captures=least, memory_bytes=1 << 30)
    report = build_facets(ParquetSource(folder), BlobFolder(work / "facets"), options)
    return {"bytes": report.bytes, **_summed(report.build.groupings())}


def _summed(groupings: Any) -> dict[str, Any]:
    names = ("captures", "unique_documents", "unique_urls", "bytes")
    return {
        "combinations": sum(len(columns["status"]) for columns in groupings.values()),
        **{
            name: sum(int(columns[name].sum(dtype=np.int64)) for columns in groupings.values())
            for name in names
        },
    }


def grouping_sets(folder: Path, work: Path, least: int) -> dict[str, Any]:
    """Compute all groupings with one DuckDB query."""
    sets = ", ".join(f"({', '.join(('status', *some))})" for some in GROUPINGS)
    grouped = f"SELECT {COUNTED} FROM captures GROUP BY GROUPING SETS ({sets})"
    return _asked(folder, work, [f"{grouped} HAVING captures >= {least}"])


def query_a_grouping(folder: Path, work: Path, least: int) -> dict[str, Any]:
    """Compute each grouping with a separate query of DuckDB."""
    queries = [
        f"SELECT {COUNTED} FROM captures GROUP BY {', '.join(('status', *some))}"
        f" HAVING captures >= {least}"
        for some in GROUPINGS
    ]
    return _asked(folder, work, queries)


def _asked(folder: Path, work: Path, queries: list[str]) -> dict[str, Any]:
    import duckdb

    settings = {"memory_limit": MEMORY, "temp_directory": str(work / "spill"), "threads": 2}
    connection = duckdb.connect(str(work / "captures.db"), config=settings)
    bounds = " ".join(f"WHEN content_length < {end} THEN {n}" for n, end in enumerate(SIZES))
    size = f"CASE {bounds} ELSE {len(SIZES)} END"
    connection.execute(CAPTURES.format(size=size, files=f"{folder}/*/*.parquet"))
    # Read the files once, as nwx does: all queries then use the table.
    connection.execute("CREATE TABLE held AS SELECT * FROM captures")
    found = [0, 0, 0, 0, 0]
    for query in queries:
        table = query.replace("FROM captures", "FROM held")
        row = connection.execute(
            "SELECT count(*), sum(captures), sum(unique_documents), sum(unique_urls), sum(bytes)"
            f" FROM ({table})"
        ).fetchone()
        found = [old + int(new or 0) for old, new in zip(found, row or (), strict=True)]
    names = ("combinations", "captures", "unique_documents", "unique_urls", "bytes")
    return dict(zip(names, found, strict=True))


WAYS: dict[str, Callable[[Path, Path, int], dict[str, Any]]] = {
    "nwx": nwx,
    "duckdb GROUPING SETS": grouping_sets,
    "duckdb a query a grouping": query_a_grouping,
}


def run_one(way: str, folder: Path, work: Path, least: int) -> None:
    """Compute in one way in this process, and print the result as JSON."""
    began = time.monotonic()
    found = WAYS[way](folder, work, least)
    seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(json.dumps({"seconds": seconds, "peak_mb": peak, **found}))


def measured(way: str, folder: Path, work: Path, least: int) -> dict[str, Any]:
    """Return the time, the memory and the sums of one way, run in a separate process."""
    command = [sys.executable, "-m", "benchmarks.facets_build", "--one", way]
    command += ["--folder", str(folder), "--work", str(work), "--min-captures", str(least)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1][:200]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def show(way: str, found: dict[str, Any]) -> None:
    """Print a line of the result."""
    if "failed" in found:
        print(f"{way:28} failed: {found['failed']}")
    else:
        print(
            f"{way:28} {found['seconds']:8.1f} s {found['peak_mb']:8.0f} MB"
            f" {found['combinations']:12,} combinations"
        )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captures", type=int, default=1_000_000)
    parser.add_argument("--min-captures", type=int, default=100)
    parser.add_argument("--tmp", type=Path)
    parser.add_argument("--skip", nargs="*", default=[], choices=[*WAYS, "all combinations"])
    parser.add_argument("--one", choices=WAYS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--work", type=Path)
    arguments = parser.parse_args()
    least = arguments.min_captures
    if arguments.one:
        run_one(arguments.one, arguments.folder, arguments.work, least)
        return
    with tempfile.TemporaryDirectory(dir=arguments.tmp) as name:
        compare(Path(name), arguments.captures, least, arguments.skip)


def compare(folder: Path, captures: int, least: int, skip: list[str]) -> None:
    """Run all ways on the same captures, and print a comparison."""
    data = folder / "captures"
    write_captures(data, captures)
    print(f"{captures:,} captures, combinations of at least {least}")
    found = {}
    for way in WAYS:
        if way not in skip:
            work = folder / way.replace(" ", "-")
            work.mkdir()
            found[way] = measured(way, data, work, least)
            show(way, found[way])
    names = ("combinations", "captures", "unique_documents", "unique_urls", "bytes")
    kept = [one for one in found.values() if "failed" not in one]
    same = len({tuple(one[name] for name in names) for one in kept}) == 1
    print("all found the same" if same else "they did NOT find the same")
    peers = [one["seconds"] for way, one in found.items() if way != "nwx" and "failed" not in one]
    if peers and "nwx" in found:
        print(f"nwx is {min(peers) / found['nwx']['seconds']:.1f} times as fast as the better")
    add_a_month(data, folder, least)
    if "all combinations" not in skip:
        everything = measured("nwx", data, _fresh(folder / "all"), 1)
        show("nwx, all 64 groupings", everything)
        stored = found["nwx"]["combinations"] / everything["combinations"]
        print(f"{stored:.2%} of the combinations are stored")


def add_a_month(data: Path, folder: Path, least: int) -> None:
    """Print the time to add the last month to a build of the months before."""
    last = sorted(data.iterdir())[-1]
    aside = folder / last.name
    last.rename(aside)
    work = _fresh(folder / "month")
    before = measured("nwx", data, work, least)
    aside.rename(last)
    after = measured("nwx", data, work, least)
    show("nwx, the months before", before)
    show("nwx, one month more", after)


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
