"""Importing: archive files into an archive, several readers and one writer.

`run` is the parent and writes; `worker` is a process that reads; `reading`
and `collecting` are what it does with a file.
"""

from nwx.importing.options import ImportOptions
from nwx.importing.report import ImportReport, Outcome, Progress, report_json
from nwx.importing.run import import_files

__all__ = [
    "ImportOptions",
    "ImportReport",
    "Outcome",
    "Progress",
    "import_files",
    "report_json",
]
