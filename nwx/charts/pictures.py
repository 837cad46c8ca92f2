"""Pictures of charts, and the JavaScript by which browsers draw them.

A picture depends on nothing but its specification, which carries the data: one
that was drawn is kept for whoever asks for the same again. At most two are
drawn at once.
"""

import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from threading import BoundedSemaphore
from typing import Literal

from cachetools import LRUCache

from nwx.bulk.whole_files import whole_file
from nwx.charts.drawing_processes import DRAWING_PROCESSES, TaskRefusedError, TaskTimeoutError
from nwx.charts.fields import Spec
from nwx.errors import ErrorText, NwxError, SourceError

PictureFormat = Literal["svg", "png"]

TIMEOUT_SECONDS = 60
PNG_SCALE = 2.0
KEPT_BYTES = 32_000_000
"""Of the pictures that are kept for being asked for again, in each process."""

_WAIT_SECONDS = 15
_SLOTS = BoundedSemaphore(2)
_KEPT: LRUCache[bytes, bytes] = LRUCache(KEPT_BYTES, getsizeof=len)
_KEPT_GUARD = threading.Lock()


class DrawingError(NwxError):
    """A chart that could not be drawn."""


class DrawingBusyError(DrawingError):
    """So many charts are being drawn that this one has to wait."""


def draw_picture(spec: Spec, looks: Spec, form: PictureFormat) -> bytes:
    """Return the picture of a Vega-Lite or Vega specification that carries its data.

    Raises DrawingError where it cannot be drawn, or not in time.
    """
    task = {"task": form, "spec": spec, "config": looks, "scale": PNG_SCALE}
    text = json.dumps(task, sort_keys=True)
    key = blake2b(text.encode(), digest_size=32).digest()
    with _KEPT_GUARD:
        kept = _KEPT.get(key)
    if kept is not None:
        return kept
    picture = _result_of(task)
    with _KEPT_GUARD:
        if len(picture) <= KEPT_BYTES:
            _KEPT[key] = picture
    return picture


def _result_of(task: Spec) -> bytes:
    with _slot():
        try:
            return DRAWING_PROCESSES.do(task, TIMEOUT_SECONDS)
        except TaskTimeoutError as error:
            raise DrawingError(
                ErrorText(
                    "a chart was not drawn within %(seconds)s s; ask for fewer values",
                    seconds=TIMEOUT_SECONDS,
                )
            ) from error
        except TaskRefusedError as error:
            raise DrawingError(
                ErrorText("a chart could not be drawn: %(reason)s", reason=error)
            ) from error


@contextmanager
def _slot() -> Iterator[None]:
    """Let two draw at once; the others wait, but not so long that nobody else is served."""
    if not _SLOTS.acquire(timeout=_WAIT_SECONDS):
        raise DrawingBusyError(ErrorText("other charts are being drawn; ask again in a moment"))
    try:
        yield
    finally:
        _SLOTS.release()


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
