"""Processes that run vl-convert, kept for the next picture.

vl-convert runs Vega in a JavaScript engine: it takes a hundred megabytes and
most of a second to start, blocks other threads while it draws, and ends its
process on a text that has a NUL. So it runs in processes of its own. One that
has drawn is kept for the next picture, which then takes a tenth of the time,
and ends by itself when none comes for a while.
"""

import json
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from nwx.bulk.child_processes import ChildProcess, Death, KeptProcess, requests
from nwx.errors import NwxError

TASKS_A_PROCESS = 500
"""A process is replaced after so many, whatever it has gathered in its memory by then."""

_IDLE_SECONDS = 120.0
_DONE, _REFUSED = b"+", b"-"
_SHOWN_CHARACTERS = 300


class TaskRefusedError(NwxError):
    """A task that vl-convert does not do; the message is its reason."""


class TaskTimeoutError(NwxError):
    """A task that took too long."""


class DrawingProcesses:
    """Processes for the threads of this one: one is kept, others live for a task."""

    def __init__(self) -> None:
        self._processes = KeptProcess(draw_pictures, TASKS_A_PROCESS)

    def do(self, task: Mapping[str, Any], timeout_seconds: float) -> bytes:
        """Return what came of a task; raises TaskRefusedError and TaskTimeoutError."""
        return _result_of(self._processes.ask(_message(task), seconds=timeout_seconds))

    def do_alone(self, task: Mapping[str, Any], timeout_seconds: float) -> bytes:
        """Return what came of a task that takes much memory, in a process that ends with it."""
        process = ChildProcess(draw_pictures)
        try:
            return _result_of(process.ask(_message(task), seconds=timeout_seconds))
        finally:
            process.end()


def _message(task: Mapping[str, Any]) -> bytes:
    # Half a surrogate pair is no text; the engine refuses it.
    return json.dumps(task, ensure_ascii=False).encode(errors="replace")


def _result_of(answer: bytes | Death) -> bytes:
    if not isinstance(answer, Death):
        if answer.startswith(_DONE):
            return answer[1:]
        raise TaskRefusedError(answer[1:].decode(errors="replace")[:_SHOWN_CHARACTERS])
    if answer.was_late:
        raise TaskTimeoutError("the process did not answer in time")
    raise TaskRefusedError(answer.last_line if answer.code else "vl-convert does not start")


def draw_pictures(connection: "Connection[bytes, bytes]") -> None:
    """Do the tasks that come over a connection until it is closed, or none comes for a while."""
    for text in requests(connection, _IDLE_SECONDS):
        try:
            answer = _DONE + _drawn(json.loads(text))
        except ValueError as error:  # what vl-convert raises for all that it refuses
            answer = _REFUSED + _reason(str(error)).encode(errors="replace")
        connection.send_bytes(answer)


def _reason(message: str) -> str:
    """Return a message of vl-convert without the places in its JavaScript."""
    lines = (line.strip() for line in message.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("at "))


def _drawn(task: Mapping[str, Any]) -> bytes:
    # Imported here: only the process that draws pays for it.
    import vl_convert

    if task["task"] == "bundle":
        bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
        return bundle.encode()
    spec, looks, svg = task["spec"], task["config"], task["task"] == "svg"
    # No chart of ours loads anything; none of its data can make it.
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
"""The drawing processes of this one."""
