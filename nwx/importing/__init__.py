"""Importing: archive files into an archive, several readers and one writer.

`run` is the parent and writes; `process` is its hold on the `worker`s, which
read; `reading` and `collecting` are what a worker does with a file.
"""

from nwx.importing.options import PARSERS, ImportOptions
from nwx.importing.process import warm_up
from nwx.importing.report import ImportReport, Outcome, Progress, report_json
from nwx.importing.run import import_files

__all__ = [
    "PARSERS",
    "ImportOptions",
    "ImportReport",
    "Outcome",
    "Progress",
    "import_files",
    "report_json",
    "warm_up",
]
