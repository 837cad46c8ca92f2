"""A file on its way into an archive."""

from nwx.importing.messages import FileTask
from nwx.model import SourceFile
from nwx.warc.sources import ArchiveSource


class Job:
    """A file on its way: its task, as it stands after the last part written.

    `deaths` counts the workers that died outside of an extraction before they delivered more of it.
    """

    def __init__(self, source: ArchiveSource, path: str, entry: SourceFile | None) -> None:
        self.source, self.path, self.entry = source, path, entry
        self.without_text: dict[int, str] = {}
        self.deaths = self.late_errors = 0

    @property
    def name(self) -> str:
        """The name that the ledger knows the file by."""
        return self.source.name

    @property
    def is_finished(self) -> bool:
        """Whether the ledger says that all of the file is in the archive."""
        return self.entry is not None and self.entry.finished

    @property
    def size(self) -> int:
        """The bytes of the file, 0 where they are not known."""
        return self.source.size or 0

    def task(self, number: int, *, staged: bool, with_pages: bool = False) -> FileTask:
        """Return what a worker is told."""
        return FileTask(
            self.source,
            self.path,
            self.entry,
            dict(self.without_text),
            staged,
            with_pages,
            at_once=bool(self.without_text or self.deaths),
            number=number,
        )
