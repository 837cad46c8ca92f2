"""Pictures of charts, and the JavaScript that draws charts in browsers.

A picture depends only on its specification, which includes the data, and so is cached. At most two
are drawn at once.
"""

import gzip
import json
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, Literal

from cachetools import LRUCache

from nwx.bulk.child_processes import ChildProcess, Death, KeptProcess, requests
from nwx.bulk.whole_files import whole_file
from nwx.charts.fields import Spec
from nwx.errors import NwxError, SourceError

TASKS_A_PROCESS = 500
"""A process is replaced after this many tasks, to bound its memory."""

_IDLE_SECONDS = 120.0
_DONE, _REFUSED = b"+", b"-"
_SHOWN_CHARACTERS = 300


class TaskRefusedError(NwxError):
    """A task that vl-convert refuses; the message is its reason."""


class TaskTimeoutError(NwxError):
    """A task that took too long."""


class DrawingProcesses:
    """Drawing processes shared by threads: one is kept, others live for one task."""

    def __init__(self) -> None:
        self._processes = KeptProcess(draw_pictures, TASKS_A_PROCESS)

    def do(self, task: Mapping[str, Any], timeout_seconds: float) -> bytes:
        """Return the result of a task; raises TaskRefusedError and TaskTimeoutError."""
        return _answer_of(self._processes.ask(_message(task), seconds=timeout_seconds))

    def do_alone(self, task: Mapping[str, Any], timeout_seconds: float) -> bytes:
        """Return the result of a memory-intensive task, run in a process that ends afterwards."""
        process = ChildProcess(draw_pictures)
        try:
            return _answer_of(process.ask(_message(task), seconds=timeout_seconds))
        finally:
            process.end()


def _message(task: Mapping[str, Any]) -> bytes:
    # The engine refuses lone surrogates.
    return json.dumps(task, ensure_ascii=False).encode(errors="replace")


def _answer_of(answer: bytes | Death) -> bytes:
    if not isinstance(answer, Death):
        if answer.startswith(_DONE):
            return answer[1:]
        raise TaskRefusedError(answer[1:].decode(errors="replace")[:_SHOWN_CHARACTERS])
    if answer.was_late:
        raise TaskTimeoutError("the process did not answer in time")
    raise TaskRefusedError(answer.last_line if answer.code else "vl-convert does not start")


def draw_pictures(connection: "Connection[bytes, bytes]") -> None:
    """Run tasks received over a connection until it is closed or idle for too long."""
    for text in requests(connection, _IDLE_SECONDS):
        try:
            answer = _DONE + _drawn(json.loads(text))
        except ValueError as error:  # vl-convert's error for anything it refuses
            answer = _REFUSED + _reason(str(error)).encode(errors="replace")
        connection.send_bytes(answer)


def _reason(message: str) -> str:
    """Return a message of vl-convert without its JavaScript stack trace."""
    lines = (line.strip() for line in message.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("at "))


def _drawn(task: Mapping[str, Any]) -> bytes:
    # Imported here: only the drawing process needs it.
    import vl_convert

    if task["task"] == "bundle":
        bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
        return bundle.encode()
    spec, looks, svg = task["spec"], task["config"], task["task"] == "svg"
    # Charts load nothing, and their data must not be able to make them.
    nowhere: list[str] = []
    if "marks" in spec:
        whole = {**spec, "config": looks, "background": looks["background"]}
        if svg:
            return str(vl_convert.vega_to_svg(whole, allowed_base_urls=nowhere)).encode()
        return bytes(vl_convert.vega_to_png(whole, scale=task["scale"], allowed_base_urls=nowhere))
    if svg:
        made: str = vl_convert.vegalite_to_svg(spec, config=looks, allowed_base_urls=nowhere)
        return made.encode()
    return bytes(
        vl_convert.vegalite_to_png(
            spec, config=looks, scale=task["scale"], allowed_base_urls=nowhere
        )
    )


DRAWING_PROCESSES = DrawingProcesses()
"""The drawing processes of this process."""


PictureFormat = Literal["svg", "png"]

TIMEOUT_SECONDS = 60
PNG_SCALE = 2.0
KEPT_BYTES = 32_000_000
"""The size of the picture cache of each process."""

_WAIT_SECONDS = 15
_SLOTS = BoundedSemaphore(2)
_KEPT: LRUCache[bytes, bytes] = LRUCache(KEPT_BYTES, getsizeof=len)
_KEPT_GUARD = threading.Lock()


class DrawingError(NwxError):
    """A chart that could not be drawn."""


class DrawingBusyError(DrawingError):
    """Too many charts are being drawn; the caller should retry in a moment."""


def draw_picture(spec: Spec, looks: Spec, form: PictureFormat) -> bytes:
    """Return a picture of a Vega-Lite or Vega specification that includes its data.

    Raises DrawingError if it cannot be drawn, or not in time.
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
            raise DrawingError.translated(
                "a chart was not drawn within %(seconds)s s; ask for fewer values",
                seconds=TIMEOUT_SECONDS,
            ) from error
        except TaskRefusedError as error:
            raise DrawingError.translated(
                "a chart could not be drawn: %(reason)s", reason=error
            ) from error


@contextmanager
def _slot() -> Iterator[None]:
    """Allow two drawings at once; raises DrawingBusyError if the wait is too long."""
    if not _SLOTS.acquire(timeout=_WAIT_SECONDS):
        raise DrawingBusyError.translated("other charts are being drawn; try again in a moment")
    try:
        yield
    finally:
        _SLOTS.release()


_TIMEOUT_SECONDS = 60


def bundle_version() -> str:
    """Return the version of the JavaScript bundle, that of vl-convert."""
    return version("vl-convert-python")


@lru_cache(maxsize=1)
def browser_bundle(folder: Path) -> bytes:
    """Return the gzip-compressed JavaScript bundle, from `folder` if it is there.

    Otherwise it is built and stored there for all users of the folder. If the folder is not
    writable, each process builds its own.
    """
    path = folder / f"vega-{bundle_version()}.js.gz"
    # A missing or damaged file is rebuilt.
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
