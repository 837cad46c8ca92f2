"""Creates CDX lines, and clusters of them: directly, or by the code under test (`build_from`)."""

import gzip
import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path

from nwx.bulk.resources import Resources
from nwx.cdx.inputs import CdxSource
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.builds import ClusterBuildReport, build_cluster
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.merges import MergeReport, merge_lines


def cdxj_lines(count: int, start: int = 0) -> list[bytes]:
    """Return sorted CDXJ lines; some URLs have several captures."""
    made = []
    for number in range(start, start + count):
        host = f"org,site{number % 17:02d}"
        values = {
            "url": f"http://site{number % 17:02d}.org/page/{number // 3}",
            "mime": "text/html",
            "status": "200",
            "digest": f"sha1:{number:032d}",
            "length": str(1000 + number),
            "offset": str(number * 5000),
            "filename": f"crawl-{number % 5}.warc.gz",
        }
        key = f"{host})/page/{number // 3} {20200101000000 + number}"
        made.append(f"{key} {json.dumps(values)}".encode())
    return sorted(made)


def _members(found: Sequence[bytes], lines: int) -> list[tuple[bytes, bytes]]:
    """Return key and gzip member for each group of `lines` lines."""
    members = []
    for at in range(0, len(found), lines):
        block = found[at : at + lines]
        key = b" ".join(block[0].split(b" ")[:2])
        members.append((key, gzip.compress(b"\n".join(block) + b"\n", mtime=0)))
    return members


def write_cluster(folder: Path, found: Sequence[bytes], lines: int = 50) -> Path:
    """Write a cluster in the classic format and return its index."""
    offset, index, data = 0, b"", b""
    for number, (key, member) in enumerate(_members(found, lines), 1):
        index += b"%b\tcdx-00000.gz\t%d\t%d\t%d\n" % (key, offset, len(member), number)
        data += member
        offset += len(member)
    (folder / "cdx-00000.gz").write_bytes(data)
    (folder / "cluster.loc").write_text("cdx-00000.gz\tcdx-00000.gz\n")
    (folder / "cluster.idx").write_bytes(index)
    return folder / "cluster.idx"


def write_wacz_index(folder: Path, found: Sequence[bytes], lines: int = 50) -> Path:
    """Write a cluster in the format of WACZ files and return its index."""
    offset, data = 0, b""
    index = b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n'
    for key, member in _members(found, lines):
        digest = f"sha256:{hashlib.sha256(member).hexdigest()}"
        values = {"offset": offset, "length": len(member), "digest": digest}
        index += key + b" " + json.dumps(values).encode() + b"\n"
        data += member
        offset += len(member)
    (folder / "index.cdx.gz").write_bytes(data)
    (folder / "index.idx").write_bytes(index)
    return folder / "index.idx"


LINES = cdxj_lines(2000)


def text(lines: Sequence[bytes]) -> bytes:
    return b"\n".join([*lines, b""])


def shuffled(lines: Sequence[bytes], seed: int = 1) -> list[bytes]:
    made = list(lines)
    random.Random(seed).shuffle(made)
    return made


def build_from(
    out: Path,
    *files: Path,
    options: ClusterBuildOptions | None = None,
    memory: int = 512 << 20,
    workers: int = 1,
) -> ClusterBuildReport:
    sources = [CdxSource(str(file)) for file in files]
    resources = Resources(memory, None, workers)
    return build_cluster(out, sources, options or ClusterBuildOptions(lines_a_block=100), resources)


def merge_in(place: Path, *files: Path, lines: int = 100) -> MergeReport:
    sources = [CdxSource(str(file)) for file in files]
    return merge_lines(place, sources, Resources(workers=1), lines_a_block=lines)


def read(out: Path) -> list[bytes]:
    with open_cluster(out) as cluster:
        return list(cluster.lines())


def data_files(out: Path) -> list[Path]:
    return sorted(out.glob("cdx-*.gz"))
