"""Importing: archive files into an archive, several readers and one writer.

`run` is the parent and writes; `process` is its hold on the `worker`s, which
read; `reading` and `collecting` are what a worker does with a file.
`separating` gives captures documents of their own where nothing is to be
deduplicated, `excluding` says what became of exclusion lists.
"""

from nwx.importing.excluding import ExclusionReport, report_exclusion
from nwx.importing.options import PARSERS, ImportOptions
from nwx.importing.process import warm_up
from nwx.importing.report import ImportReport, Outcome, Progress, report_json
from nwx.importing.run import import_files

__all__ = [
    "PARSERS",
    "ExclusionReport",
    "ImportOptions",
    "ImportReport",
    "Outcome",
    "Progress",
    "import_files",
    "report_exclusion",
    "report_json",
    "warm_up",
]
