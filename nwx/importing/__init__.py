"""Import of archive files: several reader processes and one writer.

`importer` runs in the parent and writes; `readers` controls the reader processes, which run
`worker` and, in it, `collector`. `extracted` imports documents files extracted elsewhere.
"""

from nwx.importing.importer import ListenerOfPages, import_files
from nwx.importing.messages import Outcome
from nwx.importing.options import ExclusionReport, ImportOptions, import_options, report_exclusion
from nwx.importing.readers import warm_up
from nwx.importing.report import ImportReport, import_report_json, report_of_errors
from nwx.model import PARSERS

__all__ = [
    "PARSERS",
    "ExclusionReport",
    "ImportOptions",
    "ImportReport",
    "ListenerOfPages",
    "Outcome",
    "import_files",
    "import_options",
    "import_report_json",
    "report_exclusion",
    "report_of_errors",
    "warm_up",
]
