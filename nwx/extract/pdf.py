"""Text, title and author of PDFs, read by pdfium in a process with memory and time limits.

A PDF of 20 KB can unpack to pages that take a gigabyte, and pdfium ends its process when an
allocation fails. One process reads many PDFs and is replaced after a crash.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import msgspec

from nwx.bulk.child_processes import Death, KeptProcess, requests
from nwx.bulk.process_limits import WAITED, limit_memory, set_item_deadline
from nwx.data_classes import dataclass
from nwx.extract.page import MIB, ExtractPayload
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract

if TYPE_CHECKING:
    import pypdfium2

_LONGEST_FIELD = 5_000
_MOST_PROBLEMS = 10
_SHARE_OF_TIME = 0.9  # the rest is for the waiting process, which has its own time limit


@dataclass(frozen=True, slots=True)
class PdfText:
    """The content of a PDF: its lines with `BLOCK` between them, title and author."""

    text: str = ""
    title: str = ""
    author: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Task:
    """The limits of reading one PDF."""

    pages: int
    characters: int
    seconds: float
    memory_bytes: int


def read_pdf(payload: ExtractPayload) -> PdfText:
    """Return the content of a PDF, within the limits of the payload."""
    limits = payload.limits
    if payload.late():
        return PdfText(problems=(f"time: more than {limits.seconds} seconds at page 1",))
    seconds = max(0.1, (payload.deadline - payload.clock()) * _SHARE_OF_TIME)
    task = _Task(limits.pages, limits.characters, seconds, limits.memory_bytes)
    # The process measures processor time; elapsed time is longer on a busy machine.
    most = (seconds + 1) * WAITED
    answer = PDF_PROCESS.ask(msgspec.json.encode(task), payload.data, seconds=most)
    if not isinstance(answer, Death):
        return msgspec.json.decode(answer, type=PdfText)
    if answer.was_late:
        return PdfText(problems=(f"pdf: reading took longer than {seconds:.3g} s",))
    limit = f"{task.memory_bytes // MIB} MiB of memory are allowed"
    return PdfText(problems=(f"pdf: reading ended ({answer.how}); {limit}",))


def serve_pdfs(connection: "Connection[bytes, bytes]") -> None:
    """Read the PDFs received over a connection, each after its task, until it is closed."""
    messages = requests(connection)
    for told, data in zip(messages, messages, strict=False):
        task = msgspec.json.decode(told, type=_Task)
        limit_memory(task.memory_bytes)
        set_item_deadline(task.seconds)
        try:
            found = _read(data, task)
        except MemoryError:
            limit = f"more than {task.memory_bytes // MIB} MiB of memory are needed"
            found = PdfText(problems=(f"pdf: {limit}",))
        set_item_deadline(0)
        connection.send_bytes(msgspec.json.encode(found))


PDF_PROCESS = KeptProcess(serve_pdfs)
"""The child process that reads PDFs for this process."""


def _read(data: bytes, task: _Task) -> PdfText:
    # pdfium is loaded with the first PDF, not whenever nwx is imported.
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
    """Return an entry of the document's information, "" if it is missing or unreadable."""
    try:
        return clean_line(document.get_metadata_value(key)[:_LONGEST_FIELD])
    except UnicodeError:
        return ""


def _lines(document: "pypdfium2.PdfDocument", task: _Task, problems: list[str]) -> Iterator[str]:
    """Yield the lines of all pages within the limits."""
    import pypdfium2

    until, length = time.thread_time() + task.seconds * _SHARE_OF_TIME, 0
    for number in range(len(document)):
        if number >= task.pages:
            problems.append(f"pages: {len(document)}, read {number}")
            return
        if time.thread_time() > until:
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
