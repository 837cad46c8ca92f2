"""Writing Common Crawl's columnar index from CDX lines: rows per processor second, bytes per row.

python -m benchmarks.cc_index --lines 1000000 --folder /a/disk/with/room
"""

import argparse
import resource
import time
from pathlib import Path

import nwx
from benchmarks.dedup_cdx import make
from nwx.cdx.inputs import CdxSource


def _processor_seconds() -> float:
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def main() -> None:
    """Make the lines, write the table, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    source, table = asked.folder / f"{asked.lines}.cdx", asked.folder / f"index-{time.time_ns()}"
    if not source.exists():
        make(source, asked.lines)
    before, began = _processor_seconds(), time.perf_counter()
    report = nwx.open(asked.folder / "none").export_cc_index(table, [CdxSource(str(source))])
    used, took = _processor_seconds() - before, time.perf_counter() - began
    peak = sum(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(
        f"{report.rows:,} rows, {report.rows / used:,.0f} a second of processor time"
        f" ({took:.1f} s), {report.bytes / report.rows:.1f} bytes a row, at most {peak >> 10} MB"
    )


if __name__ == "__main__":
    main()
