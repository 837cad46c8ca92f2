"""Archive files that were extracted already, as an import is given them."""

from dataclasses import dataclass

from nwx.warc.sources import ArchiveSource


@dataclass(frozen=True, slots=True)
class ExtractedFile(ArchiveSource):
    """An archive file that was extracted already.

    `path` is where it lay then, `documents` the path of the documents file,
    `number` its place among the archive files in that.
    """

    documents: str = ""
    number: int = 0
