"""Processes that run vl-convert, kept for the next picture.

vl-convert runs Vega in a JavaScript engine: it takes a hundred megabytes and
most of a second to start, blocks other threads while it draws, and ends its
process on a text that has a NUL. So it runs in processes of its own. One that
has drawn is kept for the next picture, which then takes a tenth of the time,
and ends by itself when none comes for a while.
"""

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import IO, Any

from nwx.errors import NwxError

TASKS_A_PROCESS = 500
"""A process is replaced after so many, whatever it has gathered in its memory by then."""

_IDLE_SECONDS = 120.0
_LENGTH_BYTES = 8
_DONE, _REFUSED = b"+", b"-"
_SHOWN_CHARACTERS = 300


class TaskRefusedError(NwxError):
    """A task that vl-convert does not do; the message is its reason."""


class TaskTimeoutError(NwxError):
    """A task that took too long."""


class DrawingProcess:
    """A process of vl-convert, which does one task at a time."""

    def __init__(self) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nwx.charts.drawing_processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
        )
        self.tasks = 0

    def is_running(self) -> bool:
        """Return whether the process waits for a task."""
        return self._process.poll() is None

    def do(self, task: Mapping[str, Any], timeout_seconds: float) -> bytes | None:
        """Return what came of a task, None where the process had ended before it began.

        Raises TaskRefusedError and TaskTimeoutError.
        """
        self.tasks += 1
        late = threading.Event()
        timer = threading.Timer(timeout_seconds, self._kill, [late])
        timer.start()
        try:
            answer = self._asked(task)
        finally:
            timer.cancel()
        if answer is not None:
            if answer.startswith(_DONE):
                return answer[1:]
            raise TaskRefusedError(answer[1:].decode(errors="replace")[:_SHOWN_CHARACTERS])
        code = self._process.wait()
        if late.is_set():
            raise TaskTimeoutError(f"the process did not answer within {timeout_seconds} s")
        if code:
            raise TaskRefusedError(self._last_message())
        return None

    def _kill(self, late: threading.Event) -> None:
        late.set()
        self._process.kill()

    def _asked(self, task: Mapping[str, Any]) -> bytes | None:
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        # Half a surrogate pair is no text; the engine refuses it.
        with suppress(BrokenPipeError):
            _write(into, json.dumps(task, ensure_ascii=False).encode(errors="replace"))
            return _read(out)
        return None

    def _last_message(self) -> str:
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:_SHOWN_CHARACTERS] if lines else "no reason given"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # there may be what could not be sent
                    stream.close()
        self._messages.close()


class DrawingProcesses:
    """Processes for the threads of this one: one is kept, others live for a task."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: DrawingProcess | None = None

    def do(self, task: Mapping[str, Any], timeout_seconds: float) -> bytes:
        """Return what came of a task; raises TaskRefusedError and TaskTimeoutError."""
        while True:
            process = self._taken()
            is_new = not process.tasks
            try:
                answer = process.do(task, timeout_seconds)
            finally:
                self._put_back(process)
            if answer is not None:
                return answer
            if is_new:
                raise TaskRefusedError("vl-convert does not start")

    def _taken(self) -> DrawingProcess:
        with self._guard:
            process, self._kept = self._kept, None
        if process is not None and not process.is_running():
            process.close()
            process = None
        return process or DrawingProcess()

    def _put_back(self, process: DrawingProcess) -> None:
        with self._guard:
            is_useful = process.is_running() and process.tasks < TASKS_A_PROCESS
            if is_useful and self._kept is None:
                self._kept = process
                return
        process.close()

    def do_alone(self, task: Mapping[str, Any], timeout_seconds: float) -> bytes:
        """Return what came of a task that takes much memory, in a process that ends with it."""
        with closing(DrawingProcess()) as process:
            answer = process.do(task, timeout_seconds)
        if answer is None:
            raise TaskRefusedError("vl-convert does not start")
        return answer

    def close(self) -> None:
        """End the process that is kept."""
        with self._guard:
            process, self._kept = self._kept, None
        if process is not None:
            process.close()

    def forget(self) -> None:
        """Leave the process that is kept to the parent of this one, which was forked."""
        self._guard = threading.Lock()
        self._kept = None


def _write(stream: IO[bytes], text: bytes) -> None:
    stream.write(len(text).to_bytes(_LENGTH_BYTES, "big") + text)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """Return the next text of a stream, None where it ends before that."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(length, "big")
    text = stream.read(size)
    return text if len(text) == size else None


def _serve() -> None:
    """Do tasks from standard input until it ends, or none comes for a while."""
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    while select.select([tasks], [], [], _IDLE_SECONDS)[0]:
        text = _read(tasks)
        if text is None:
            return
        try:
            answer = _DONE + _result(json.loads(text))
        except ValueError as error:  # what vl-convert raises for all that it refuses
            answer = _REFUSED + _reason(str(error)).encode(errors="replace")
        _write(answers, answer)


def _reason(message: str) -> str:
    """Return a message of vl-convert without the places in its JavaScript."""
    lines = (line.strip() for line in message.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("at "))


def _result(task: Mapping[str, Any]) -> bytes:
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
"""Those of this process."""

atexit.register(DRAWING_PROCESSES.close)
os.register_at_fork(after_in_child=DRAWING_PROCESSES.forget)

if __name__ == "__main__":
    _serve()
