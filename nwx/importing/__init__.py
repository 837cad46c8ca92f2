"""Importing: archive files into an archive, several readers and one writer.

`run` is the parent and writes; `process` is its hold on the `worker`s, which
read; `reading` and `collecting` are what a worker does with a file.
`separating` gives captures documents of their own where nothing is to be
deduplicated, `excluding` says what became of exclusion lists.
"""

from nwx.importing.exclusion_report import ExclusionReport, report_exclusion
from nwx.importing.importer import import_files
from nwx.importing.options import PARSERS, ImportOptions
from nwx.importing.report import ImportProgress, ImportReport, Outcome, import_report_json
from nwx.importing.worker_process import warm_up

__all__ = [
    "PARSERS",
    "ExclusionReport",
    "ImportOptions",
    "ImportProgress",
    "ImportReport",
    "Outcome",
    "import_files",
    "import_report_json",
    "report_exclusion",
    "warm_up",
]
