"""The way of a selection into a WARC file."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import whole_file
from nwx.engine.base import Engine
from nwx.errors import ErrorText, SourceError
from nwx.exports.wacz import (
    PackReport,
    RecordCopies,
    WarcSink,
    nothing_packed,
    shown_selection,
)
from nwx.exports.wacz_selection import Catalogue, WaczSelection, select_captures


class _WarcFile:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = 0

    def write(self, data: bytes) -> int:
        begin = self.size
        self._stream.write(data)
        self.size += len(data)
        return begin


def pack_warc(
    engine: Engine, selection: WaczSelection, out: Path, progress: ShowProgress = no_progress
) -> PackReport:
    """Write the records of a selection into one gzipped WARC, which appears when it is whole.

    Raises as `pack` does.
    """
    report = PackReport()
    with (
        temporary_folder() as scratch,
        closing(Catalogue(scratch / "catalogue.sqlite")) as catalogue,
    ):
        captures = select_captures(engine, selection, report.errors)
        total = catalogue.add(shown_selection(captures, progress))
        if not total:
            raise SourceError(
                ErrorText("no capture is in the selection; there is nothing to write")
            )
        with whole_file(out) as stream:
            sink = _WarcFile(stream)

            @contextmanager
            def opened(name: str) -> Iterator[WarcSink]:
                del name
                yield sink

            copies = RecordCopies(opened, catalogue, report, most_bytes=1 << 62)
            copies.write(engine.files(), progress, total)
            if not report.captures:
                raise SourceError(nothing_packed(report))
        report.bytes = out.stat().st_size
    return report
