"""Tools for searching, measuring and deduplicating web archives.

Everything starts with an archive: `nwx.open("FOLDER").search("flood")[:10]`; see `nwx.Archive`. The
names in `__all__` are the public API, which follows semantic versioning; all submodules are
internal. Names are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nwx import zipnum
    from nwx.answers.archived_capture import ArchivedCapture, ArchiveRecord
    from nwx.answers.archived_capture import archive_records as records
    from nwx.answers.capture_table import Captures
    from nwx.answers.count_tables import FacetTable, Inlinks, TrendTable
    from nwx.answers.hits import Hits
    from nwx.answers.tables import ResultTable, Rows
    from nwx.archive import Archive, open
    from nwx.dedup import dedup_cdx
    from nwx.engine.access.rules import Viewer
    from nwx.errors import (
        EngineError,
        EngineUnavailableError,
        FormatError,
        NwxError,
        QueryError,
        SourceError,
        UsageError,
    )
    from nwx.importing.report import ImportReport

__all__ = [
    "Archive",
    "ArchiveRecord",
    "ArchivedCapture",
    "Captures",
    "EngineError",
    "EngineUnavailableError",
    "FacetTable",
    "FormatError",
    "Hits",
    "ImportReport",
    "Inlinks",
    "NwxError",
    "QueryError",
    "ResultTable",
    "Rows",
    "SourceError",
    "TrendTable",
    "UsageError",
    "Viewer",
    "__version__",
    "dedup_cdx",
    "open",
    "records",
    "zipnum",
]

__version__ = "0.1.0"

_PLACES = {
    "Archive": "nwx.archive",
    "ArchiveRecord": "nwx.answers.archived_capture",
    "ArchivedCapture": "nwx.answers.archived_capture",
    "Captures": "nwx.answers.capture_table",
    "FacetTable": "nwx.answers.count_tables",
    "Hits": "nwx.answers.hits",
    "ImportReport": "nwx.importing.report",
    "Inlinks": "nwx.answers.count_tables",
    "Rows": "nwx.answers.tables",
    "ResultTable": "nwx.answers.tables",
    "TrendTable": "nwx.answers.count_tables",
    "Viewer": "nwx.engine.access.rules",
    "dedup_cdx": "nwx.dedup",
    "open": "nwx.archive",
    "records": "nwx.answers.archived_capture:archive_records",
}
"""The modules of the names that are not in `nwx.errors`."""


def __getattr__(name: str) -> Any:
    if name == "zipnum":
        return import_module("nwx.zipnum")
    if name not in __all__:
        raise AttributeError(f"module 'nwx' has no attribute {name!r}")
    module, _, other = _PLACES.get(name, "nwx.errors").partition(":")
    found = globals()[name] = getattr(import_module(module), other or name)
    return found


def __dir__() -> list[str]:
    return list(__all__)
