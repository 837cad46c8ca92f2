"""Documents files that tests write in this process."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path

from nwx.importing.collector import Lookups
from nwx.importing.extracted.documents_file import DocumentsWriter
from nwx.importing.messages import FilePart, FileTask, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.worker import import_file
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource, FileError, expand


def messages_of(
    source: ArchiveSource, options: ImportOptions | None = None
) -> Iterator[FilePart | Verdict]:
    """Yield the messages of an import of a new archive file."""
    task = FileTask(source, source.path, None)
    wanted = options or ImportOptions()
    return import_file(task, wanted, Lookups(), _no_guard, lambda _: None)


def _no_guard(offset: int) -> nullcontext[None]:
    del offset
    return nullcontext()


def write_documents(
    folder: Path, files: Iterable[Path], options: ImportOptions | None = None
) -> Path:
    """Write a documents file for each archive file into a complete folder; return the folder."""
    wanted = options or ImportOptions()
    folder.mkdir(exist_ok=True)
    for file in files:
        stream = BytesIO()
        writer = DocumentsWriter(stream, wanted.collection, deduplicated=wanted.deduplicate)
        for source in expand([str(file)]):
            if isinstance(source, ArchiveSource):
                writer.add_file(source, messages_of(source, wanted))
            elif isinstance(source, FileError):
                writer.add_fault(source)
            else:
                assert isinstance(source, ReadError)
        writer.finish()
        (folder / f"{file.name}.parquet").write_bytes(stream.getvalue())
    (folder / "_SUCCESS").touch()
    return folder
