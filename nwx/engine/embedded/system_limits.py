"""What the system does not allow at the moment, where libraries only say that something failed."""

import errno
import os
import resource
import shutil
import tempfile
from pathlib import Path

from nwx.errors import ErrorText

_SPARE_BYTES = 1 << 20
_FEW_FILES = 128  # what failed may have closed its own


def full_temporary_folder() -> Path | None:
    """Return the folder for temporary files if hardly any space is left there.

    SQLite sorts there, whatever place Python falls back to.
    """
    told = os.environ.get("SQLITE_TMPDIR") or os.environ.get("TMPDIR")
    folder = Path(told or tempfile.gettempdir())
    try:
        return folder if shutil.disk_usage(folder).free < _SPARE_BYTES else None
    except OSError:
        return None


def exceeded_limit() -> ErrorText | None:
    """Return which limit of this process is, or may be, reached, None if none is known."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return ErrorText("too many files are open; allow more (ulimit -n)")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most < _FEW_FILES:
        return ErrorText(
            "this process may open %(most)s files; allow more (ulimit -n)", most=str(most)
        )
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if largest != resource.RLIM_INFINITY:
        return ErrorText(
            "files of this process have %(most)s bytes at most; allow more (ulimit -f)",
            most=str(largest),
        )
    return None
