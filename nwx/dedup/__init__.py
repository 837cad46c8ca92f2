"""Deduplication: finding duplicate captures, and leaving out or recording them."""

from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import MEMORY_BYTES, Resources
from nwx.dedup.policies import Keep, Key, Revisits
from nwx.values.arguments import check_arguments, chosen

if TYPE_CHECKING:
    from nwx.dedup.tasks import DedupReport

_Paths = str | PathLike[str] | Iterable[str | PathLike[str]]


@check_arguments
def dedup_cdx(
    files: _Paths,
    out: str | PathLike[str],
    *,
    against: _Paths = (),
    key: str = Key.URL_DIGEST,
    keep: str = Keep.OLDEST,
    revisits: str = Revisits.IN,
    min_size: int = 0,
    mime: Iterable[str] = (),
    not_mime: Iterable[str] = (),
    memory_bytes: int = MEMORY_BYTES,
    jobs: int | None = None,
    strict: bool = False,
    progress: ShowProgress = no_progress,
) -> "DedupReport":
    """Write a line `date digest url` for each duplicate in CDX files; return the counts.

    Duplicates are the second and later captures with a URL and digest. `against` are CDX files
    whose captures are held already. Options are the same as in `nwx dedup-cdx`.
    """
    # Imported late: modules of this package do not need these.
    from nwx.bulk.whole_files import whole_file
    from nwx.cdx.inputs import CdxSource
    from nwx.dedup.capture_filter import CaptureFilter
    from nwx.dedup.duplicates import find_duplicates

    selection = CaptureFilter(
        chosen(Key, key),
        chosen(Keep, keep),
        min_size,
        tuple(one.lower() for one in mime),
        tuple(one.lower() for one in not_mime),
        chosen(Revisits, revisits),
    )
    sources = [CdxSource(file) for file in _paths(files)]
    sources += [CdxSource(file, held=True) for file in _paths(against)]
    with whole_file(Path(out)) as stream:
        return find_duplicates(
            sources,
            stream,
            selection,
            resources=Resources(memory_bytes, None, jobs),
            strict=strict,
            summary=True,
            progress=progress,
        )


def _paths(files: _Paths) -> Iterator[str]:
    for file in (files,) if isinstance(files, str | PathLike) else files:
        yield fspath(file)
