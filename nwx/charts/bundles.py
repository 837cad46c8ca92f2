"""The JavaScript by which browsers draw charts: `vegaEmbed` with Vega and Vega-Lite.

vl-convert takes two seconds of processor time to put it together, so it is
kept in a file for all processes and their successors.
"""

import gzip
import zlib
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from nwx.bulk.whole_files import whole_file
from nwx.charts.drawing_processes import DRAWING_PROCESSES
from nwx.errors import SourceError

_TIMEOUT_SECONDS = 60


def bundle_version() -> str:
    """Return the version of the bundle; another version may differ in every byte."""
    return version("vl-convert-python")


@lru_cache(maxsize=1)
def browser_bundle(folder: Path) -> bytes:
    """Return the bundle, compressed with gzip, from `folder` if it is there.

    Else it is made and left there, for all who use the folder. Where that
    cannot be written, each process makes its own.
    """
    path = folder / f"vega-{bundle_version()}.js.gz"
    # A file that is missing or damaged is made again.
    with suppress(OSError, EOFError, zlib.error):
        packed = path.read_bytes()
        if gzip.decompress(packed):
            return packed
    made = DRAWING_PROCESSES.do_alone({"task": "bundle"}, _TIMEOUT_SECONDS)
    packed = gzip.compress(made, mtime=0)
    with suppress(SourceError, OSError):  # it only saves time
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as stream:
            stream.write(packed)
    return packed
