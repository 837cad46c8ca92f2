"""PDF: text, title and author, by pdfium."""

import atexit
import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, cast

from nwx.extract.page import MIB, ExtractPayload
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract

if TYPE_CHECKING:
    import pypdfium2


_SIZE = struct.Struct("<Q")
_LONGEST_FIELD = 5_000
_MOST_PROBLEMS = 10
_SHARE_OF_TIME = 0.9  # the rest is for whoever waits, and may be ended by its own clock
_COMMAND = "from nwx.extract.pdf import serve; serve()"


@dataclass(frozen=True, slots=True)
class PdfText:
    """What a PDF says: its lines with `BLOCK` between them, title and author."""

    text: str = ""
    title: str = ""
    author: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Task:
    """How much of a PDF is read, and how long."""

    pages: int
    characters: int
    seconds: float
    memory_bytes: int


def read_pdf(payload: ExtractPayload) -> PdfText:
    """Return what a PDF says, within the limits of the payload."""
    limits = payload.limits
    if payload.late():
        return PdfText(problems=(f"time: more than {limits.seconds} seconds at page 1",))
    seconds = max(0.1, (payload.deadline - payload.clock()) * _SHARE_OF_TIME)
    task = _Task(limits.pages, limits.characters, seconds, limits.memory_bytes)
    with _guard:
        return _process().read(task, payload.data)


class _PdfProcess:
    """The hold on the process that reads PDFs."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def read(self, task: _Task, data: bytes) -> PdfText:
        """Return what a PDF says; the process is gone afterwards if the PDF was too much for it."""
        stdin = cast("IO[bytes]", self._process.stdin)
        stdout = cast("IO[bytes]", self._process.stdout)
        late = False
        try:
            _send(stdin, json.dumps(asdict(task)).encode())
            _send(stdin, data)
            late = not select.select([stdout], [], [], task.seconds)[0]
            if not late and (answer := _receive(stdout)):
                found = json.loads(answer)
                return PdfText(**{**found, "problems": tuple(found["problems"])})
        except BrokenPipeError:
            pass  # it has died of it
        return PdfText(problems=(f"pdf: {self._end(task, late=late)}",))

    def _end(self, task: _Task, *, late: bool) -> str:
        """End the process; return why it gave no answer."""
        if not late:
            self._process.wait()
        self.close()
        if late or self._process.returncode == -signal.SIGALRM:
            return f"reading took longer than {task.seconds:.3g} s"
        limit = f"{task.memory_bytes // MIB} MiB of memory are allowed"
        return f"reading ended ({_cause(self._process.returncode)}); {limit}"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


_guard = threading.Lock()
_running: list[_PdfProcess] = []


def _process() -> _PdfProcess:
    """Return the process of this process, started where there is none."""
    if _running and (_running[0].owner != os.getpid() or not _running[0].is_alive):
        _running.clear()
    if not _running:
        _running.append(_PdfProcess())
        atexit.register(_close, os.getpid())
    return _running[0]


def _close(owner: int) -> None:
    while _running:
        process = _running.pop()
        if process.owner == owner == os.getpid():
            process.close()


def serve() -> None:
    """Read the PDFs that come over standard input, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    while told := _receive(stdin):
        task = _Task(**json.loads(told))
        data = _receive(stdin)
        _limit_memory(task.memory_bytes)
        # should whoever waits be gone; a handler would wait for native code to return
        signal.setitimer(signal.ITIMER_REAL, task.seconds + 1)
        try:
            found = _read(data, task)
        except MemoryError:
            limit = f"more than {task.memory_bytes // MIB} MiB of memory are needed"
            found = PdfText(problems=(f"pdf: {limit}",))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(stdout, json.dumps(asdict(found)).encode())


def _limit_memory(limit: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(_SIZE.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    """Return the next message, b"" where the other end is gone."""
    head = stream.read(_SIZE.size)
    if len(head) < _SIZE.size:
        return b""
    (size,) = _SIZE.unpack(head)
    data = stream.read(size)
    return data if len(data) == size else b""


def _read(data: bytes, task: _Task) -> PdfText:
    # pdfium is loaded by the first PDF, not by everybody who imports nwx.
    import pypdfium2

    problems: list[str] = []
    try:
        with closing(pypdfium2.PdfDocument(data)) as document:
            text = BLOCK.join(_lines(document, task, problems))
            title, author = _metadata(document, "Title"), _metadata(document, "Author")
    except pypdfium2.PdfiumError as error:
        reason = "it is encrypted" if "password" in str(error).lower() else str(error)
        return PdfText(problems=(f"pdf: cannot be opened: {reason}",))
    return PdfText(text, title, author, tuple(problems))


def _metadata(document: "pypdfium2.PdfDocument", key: str) -> str:
    """Return an entry of the document's information, "" where there is none to be read."""
    try:
        return clean_line(document.get_metadata_value(key)[:_LONGEST_FIELD])
    except UnicodeError:
        return ""


def _lines(document: "pypdfium2.PdfDocument", task: _Task, problems: list[str]) -> Iterator[str]:
    """Yield the lines of all pages within the limits."""
    import pypdfium2

    until, length = time.monotonic() + task.seconds * _SHARE_OF_TIME, 0
    for number in range(len(document)):
        if number >= task.pages:
            problems.append(f"pages: {len(document)}, read {number}")
            return
        if time.monotonic() > until:
            problems.append(f"time: more than {task.seconds:.3g} seconds at page {number + 1}")
            return
        try:
            text = _page_text(document, number)
        except pypdfium2.PdfiumError as error:
            problems.append(f"pdf: page {number + 1} cannot be read: {error}")
            if len(problems) >= _MOST_PROBLEMS:
                return
            continue
        yield from text.replace(BLOCK, "").splitlines()
        length += len(text)
        if length > task.characters:
            return


def _page_text(document: "pypdfium2.PdfDocument", number: int) -> str:
    with closing(document[number]) as page, closing(page.get_textpage()) as textpage:
        return str(textpage.get_text_bounded())


def extract_pdf(payload: ExtractPayload) -> Extract:
    """Return the text of a PDF's pages, and its title and author."""
    found = read_pdf(payload)
    problems = list(found.problems)
    limit = payload.limits.characters
    content, cut = clean_blocks(found.text, limit)
    if cut:
        problems.append(f"text: cut after {limit} characters")
    return Extract(
        title=found.title,
        content=content,
        author=found.author,
        content_language=language_of(prose(content)),
        signature=signature_of(content),
        problems=tuple(problems),
    )
