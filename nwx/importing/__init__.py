"""Importing: archive files into an archive, several readers and one writer.

`importer` is the parent and writes; `worker_process` is its hold on the
processes of `worker`, which read; `archive_file` and `collector` are what
one of these does with a file. `separate_documents` gives captures documents
of their own where nothing is to be deduplicated, `exclusion_report` says
what became of exclusion lists.
"""

from nwx.importing.exclusion_report import ExclusionReport, report_exclusion
from nwx.importing.importer import ListenerOfPages, import_files
from nwx.importing.options import ImportOptions
from nwx.importing.report import ImportReport, Outcome, import_report_json, report_of_errors
from nwx.importing.worker_process import warm_up
from nwx.model import PARSERS

__all__ = [
    "PARSERS",
    "ExclusionReport",
    "ImportOptions",
    "ImportReport",
    "ListenerOfPages",
    "Outcome",
    "import_files",
    "import_report_json",
    "report_exclusion",
    "report_of_errors",
    "warm_up",
]
