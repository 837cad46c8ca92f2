"""From what somebody names on the command line to sources."""

from collections.abc import Sequence
from pathlib import Path

from nwx.cdxserver.sources.clusters import ClusterSource
from nwx.cdxserver.sources.files import CdxFileSource
from nwx.cdxserver.sources.merged import RowSource
from nwx.errors import SourceError
from nwx.model import DEFAULT_COLLECTION

_CLUSTER_ENDS = (".idx", ".summary", ".wacz")
_FILE_ENDS = (".cdx", ".cdxj")


def open_sources(named: Sequence[str]) -> list[RowSource]:
    """Return the sources that `[COLLECTION=]PATH` names; raises SourceError.

    A path is a CDX or CDXJ file, a ZipNum cluster (its folder, its `.idx`,
    an http(s) address, a WACZ), or a folder of CDX and CDXJ files.
    """
    return [source for name in named for source in _open(name)]


def _open(named: str) -> list[RowSource]:
    collection, equals, place = named.partition("=")
    # An address may hold `=`, and so may a path that is there.
    if not equals or "/" in collection or Path(named).exists():
        collection, place = DEFAULT_COLLECTION, named
    if place.startswith(("http://", "https://")):
        return [ClusterSource(place, collection)]
    path = Path(place)
    if not path.exists():
        raise SourceError(f"{place} is not there; name a CDX file, a cluster or a folder of them")
    if path.suffix.lower() in _CLUSTER_ENDS:
        return [ClusterSource(place, collection)]
    if path.is_dir():
        return _open_folder(path, collection)
    return [CdxFileSource(path, collection)]


def _open_folder(path: Path, collection: str) -> list[RowSource]:
    if any(path.glob("*.idx")) or any(path.glob("*.summary")):
        return [ClusterSource(str(path), collection)]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _FILE_ENDS)
    if not files:
        raise SourceError(f"{path} holds neither an .idx file nor .cdx or .cdxj files")
    return [CdxFileSource(file, collection) for file in files]
