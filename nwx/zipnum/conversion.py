"""From one form of cluster to the other; blocks are copied as they are."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from nwx.bulk.whole_files import whole_file, writing
from nwx.cdx.zipnum_index import ZipNumBlock, format_meta, format_wacz_line
from nwx.errors import UsageError
from nwx.zipnum.cluster import Cluster
from nwx.zipnum.publication import publish, recover, work_folder
from nwx.zipnum.shards import data_name, part_name, shard_writer

WACZ_DATA, WACZ_INDEX = "index.cdx.gz", "index.idx"


@dataclass(frozen=True, slots=True)
class Converted:
    """How many blocks were copied, and of how many bytes."""

    blocks: int
    bytes: int


def to_wacz_form(cluster: Cluster, folder: Path) -> Converted:
    """Write index.cdx.gz and index.idx, as in the folder indexes/ of a WACZ.

    Raises UsageError where they are there already.
    """
    data, index = folder / WACZ_DATA, folder / WACZ_INDEX
    if data.exists() or index.exists():
        raise UsageError(f"{folder} has an index already; name another folder")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    blocks = offset = 0
    with whole_file(index) as lines, whole_file(data) as stream:
        lines.write(format_meta(data.name))
        for block in cluster.blocks():
            stored = cluster.read(block)
            lines.write(format_wacz_line(_placed(block, offset, stored)))
            offset += stream.write(stored)
            blocks += 1
    return Converted(blocks, offset)


def _placed(block: ZipNumBlock, offset: int, stored: bytes) -> ZipNumBlock:
    digest = f"sha256:{hashlib.sha256(stored).hexdigest()}"
    return replace(block, offset=offset, digest=digest)


def to_cluster(cluster: Cluster, folder: Path) -> Converted:
    """Write a cluster in the classic form, of one data file.

    Raises UsageError where a cluster is there already.
    """
    recover(folder)
    if any(folder.glob("*.idx")):
        raise UsageError(f"{folder} has a cluster already; name another folder")
    name, part = data_name(0), part_name(0)
    with work_folder(folder, {"convert": cluster.name}) as work:
        with shard_writer(work, name, part, 1) as writer:
            for block in cluster.blocks():
                writer.copy(block.key, cluster.read(block))
        done = Converted(writer.blocks, (work / name).stat().st_size)
        publish(folder, work, [part], {name: (name,)}, report={})
    return done
