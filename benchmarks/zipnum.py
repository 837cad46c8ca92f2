"""Building a ZipNum cluster, compared with a plain implementation of the same steps.

python -m benchmarks.zipnum --lines 10000000 --folder /a/disk/with/room

The plain way is that of webarchive-indexing: `LC_ALL=C sort`, then blocks of
3,000 lines through zlib at level 6, one shard after the other. Both run
alternately on the same files with the same number of processes (sort has its
own threads), and must write the same lines; the cluster is verified. Prints
clock seconds and processor seconds, which other load changes less. With
`--order sorted` each input file is sorted, as indexers write one for each
WARC; with `shuffled` none is.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.corpus import Words
from nwx.bulk.resources import Resources
from nwx.cdx.inputs import CdxSource
from nwx.zipnum import LINES_A_BLOCK, ClusterBuildOptions
from nwx.zipnum.builds import build_cluster
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.verification import verify_cluster

_LEVEL = 6
_FILES = 20
_MEMORY = 512 << 20


def make_lines(count: int, seed: int = 1) -> Iterator[bytes]:
    """Yield unsorted CDXJ lines with realistic numbers of sites and lengths."""
    source = random.Random(seed)
    words = Words(5_000, source).words
    for number in range(count):
        site = min(int(source.paretovariate(0.9)), 30_000)
        path = "/".join(source.choices(words, k=source.randint(1, 4)))
        url = f"https://www.site{site}.example/{path}/{source.randrange(count)}.html"
        stamp = f"20{source.randrange(10, 25)}{source.randrange(10**10):010}"
        values = {
            "url": url,
            "mime": "text/html",
            "status": "200",
            "digest": f"sha1:{source.getrandbits(160):040x}",
            "length": str(source.randrange(300, 90_000)),
            "offset": str(source.randrange(1_000_000_000)),
            "filename": f"CRAWL-2024-{number % 5000:05}.warc.gz",
        }
        key = f"example,site{site})/{path}/{url.rpartition('/')[2]}"
        yield f"{key} {stamp} {json.dumps(values)}\n".encode()


def make_inputs(folder: Path, count: int, order: str) -> list[Path]:
    """Write the lines to files and return their paths."""
    lines = make_lines(count)
    paths = []
    for number in range(_FILES):
        some = list(islice(lines, -(-count // _FILES)))
        if order == "sorted":
            some.sort()
        paths.append(folder / f"in-{number:02}.cdxj")
        paths[-1].write_bytes(b"".join(some))
    return paths


def plainly(inputs: list[Path], out: Path, shards: int, cores: int) -> None:
    """Sort all lines, split them into shards, and these into blocks."""
    out.mkdir()
    whole = out / "sorted"
    command = ["sort", f"--parallel={cores}", f"-S{_MEMORY >> 10}K", "-T", str(out), "-o"]
    environment = {**os.environ, "LC_ALL": "C"}
    subprocess.run([*command, str(whole), *map(str, inputs)], env=environment, check=True)
    share = whole.stat().st_size / shards
    number = 1
    with whole.open("rb") as lines, (out / "cluster.idx").open("wb") as index:
        for shard in range(shards):
            name = f"cdx-{shard:05}.gz"
            with (out / name).open("wb") as data:
                while lines.tell() < share * (shard + 1):
                    block = list(islice(iter(lines.readline, b""), LINES_A_BLOCK))
                    if not block:
                        break
                    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
                    stored = packer.compress(b"".join(block)) + packer.flush()
                    key = b" ".join(block[0].split(b" ", 2)[:2])
                    place = b"%b\t%b\t%d\t%d\t%d\n"
                    index.write(place % (key, name.encode(), data.tell(), len(stored), number))
                    data.write(stored)
                    number += 1
    whole.unlink()


def with_nwx(inputs: list[Path], out: Path, shards: int, cores: int) -> None:
    """Build a cluster."""
    sources = [CdxSource(str(path)) for path in inputs]
    build_cluster(out, sources, ClusterBuildOptions(shards), Resources(_MEMORY, None, cores))


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Return the seconds of some work: by the clock, and of all processors."""
    begun, used = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - begun, processor_seconds() - used


def processor_seconds() -> float:
    """Return the processor seconds of this process and of ended children."""
    found = os.times()
    return found.user + found.system + found.children_user + found.children_system


def same_lines(plain: Path, ours: Path) -> bool:
    """Return whether both clusters have the same lines in the same order."""
    expected = (
        line
        for path in sorted(plain.glob("cdx-*"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    )
    with open_cluster(ours) as cluster:
        return all(one == other for one, other in zip(expected, cluster.lines(), strict=True))


def size_of(folder: Path) -> int:
    """Return the bytes of the data files."""
    return sum(path.stat().st_size for path in folder.glob("cdx-*"))


def tell(label: str, lines: int, took: tuple[float, float], out: Path) -> None:
    """Print the figures of one way."""
    clock, processors = took
    rate = f"{lines / clock:10,.0f} lines/s"
    print(f"{label:14} {clock:7.1f} s {processors:7.1f} s {rate} {size_of(out):14,} bytes")


def main() -> int:
    """Run the comparison and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=10)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--order", choices=("shuffled", "sorted"), default="shuffled")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        inputs = make_inputs(folder, asked.lines, asked.order)
        size = sum(path.stat().st_size for path in inputs)
        print(f"{asked.lines:,} lines, {size / 1e6:,.0f} MB, {asked.order}, {asked.cores} cores")
        for number in range(asked.rounds):
            plain, ours = folder / f"plain-{number}", folder / f"nwx-{number}"
            first = timed(lambda to=plain: plainly(inputs, to, asked.shards, asked.cores))
            second = timed(lambda to=ours: with_nwx(inputs, to, asked.shards, asked.cores))
            tell("sort and zlib", asked.lines, first, plain)
            tell("nwx", asked.lines, second, ours)
            print(f"{'':14} {first[0] / second[0]:7.2f} times as fast")
        faults = verify_cluster(str(ours)).counts
        same = same_lines(plain, ours)
        print(f"the same lines: {same}; faults: {dict(faults) or 'none'}")
    return 0 if same and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
