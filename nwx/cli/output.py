"""Shared by commands: opening of the archive, output safe for terminals, progress, signals."""

import io
import json
import os
import pwd
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.records import BYTE_ORDER_MARK, csv_lines

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.model import ReadError


EXCEL = "nwx.excel"
"""The key under which a click context records that `--excel` was given."""

_ERRORS_SHOWN = 20

# Characters that control a terminal or change the reading order: C0, DEL, C1,
# bidirectional controls, line separators; and surrogates, which cannot be written.
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_IN_JSON = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Return text as one line without characters that control a terminal."""
    return _STEERING.sub(lambda sign: " " if sign[0] in "\t\r\n" else "\ufffd", text)


def clean_lines(text: str) -> str:
    """Return text with its lines, without characters that control a terminal."""
    return "\n".join(clean(line) for line in text.split("\n"))


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON that is safe for terminals, with readable non-ASCII text."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _IN_JSON.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def warn(text: str) -> None:
    """Print a note or an error to standard error."""
    click.echo(f"nwx: {clean(text)}", err=True)


def error_line(error: "ReadError", *, kind: bool = True) -> str:
    """Return file, offset and message of a read error, and its `kind`, as one line."""
    place = "" if error.offset is None else f" at {error.offset}"
    return f"{error.file}{place}: {error.message}{f' ({error.kind})' if kind else ''}"


def warn_first(texts: Iterable[str], shown: int, total: int, noun: str, after: str = "") -> None:
    """Print the first notes, and the number of the others: `… and 3 more errors`."""
    for text in islice(texts, shown):
        warn(text)
    if total > shown:
        warn(f"… and {counted(total - shown, f'more {noun}')}{after}")


def print_errors(errors: "Sequence[ReadError]", total: int) -> None:
    """Print the first errors, and the number of the others."""
    warn_first(map(error_line, errors), min(len(errors), _ERRORS_SHOWN), total, "error")


def print_json(value: Any) -> None:
    """Print a value as JSON, indented on a terminal, else on one line."""
    click.echo(json_text(value, indent=2 if sys.stdout.isatty() else None))


def print_answer(answer: object) -> None:
    """Print an answer (dataclasses) as JSON."""
    import msgspec

    print_json(msgspec.to_builtins(answer))


def print_array(values: Iterable[Any]) -> None:
    """Print values as a JSON array, one per line, as they arrive."""
    opening = "["
    for value in values:
        click.echo(f"{opening}\n  {json_text(value)}", nl=False)
        opening = ","
    click.echo("[]" if opening == "[" else "\n]")


def print_object(head: dict[str, Any], name: str, values: Iterable[Any]) -> None:
    """Print a JSON object that ends with a list, value by value, as there may be millions."""
    click.echo(f'{json_text(head)[:-1]}, "{name}": [', nl=False)
    separator = "\n"
    for value in values:
        click.echo(f"{separator}{json_text(value)}", nl=False)
        separator = ",\n"
    click.echo("]}")


def print_csv(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    """Print a table as CSV that is safe to open in a spreadsheet."""
    print_csv_lines(csv_lines(columns, rows))


def print_csv_lines(lines: Iterable[str]) -> None:
    """Print lines of CSV, with `--excel` after a byte order mark."""
    if EXCEL in click.get_current_context().meta:
        click.echo(BYTE_ORDER_MARK, nl=False)
    for line in lines:
        click.echo(clean(line.removesuffix("\r\n")) + "\r\n", nl=False)


def check_one_form(**forms: bool) -> None:
    """Raise UsageError if several forms of output are requested: csv=True, json=True."""
    if sum(forms.values()) > 1:
        *others, last = (f"--{name}" for name in forms)
        raise UsageError(f"{', '.join(others)} and {last} are mutually exclusive")


def size_words(size: float | None) -> str:
    """Return a number of bytes with a readable unit (1.5 MB), "" for None."""
    if size is None:
        return ""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"


def date_words(timestamp: str) -> str:
    """Return a timestamp as a date: 2014-01-26."""
    return f"{timestamp[:4]}-{timestamp[4:6]}-{timestamp[6:8]}"


def span_words(first: str, last: str) -> str:
    """Return two timestamps as a span of days, or as one day if equal."""
    days = dict.fromkeys((date_words(first), date_words(last)))
    return " to ".join(days)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun in singular or plural: "1 error", "2,000 errors"."""
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {plural}"


class TerminalStream(io.BufferedIOBase):
    """A stream that writes lines to a terminal without control characters.

    For terminals only: files and pipes must get the unchanged bytes.
    """

    def __init__(self, terminal: BinaryIO) -> None:
        self._terminal = terminal
        self._rest = b""

    def writable(self) -> bool:
        """Return True: the stream can be written to."""
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        """Write the complete lines, and buffer the rest."""
        *lines, self._rest = (self._rest + bytes(data)).split(b"\n")
        for line in lines:
            self._put(line, b"\n")
        return len(data)

    def flush(self) -> None:
        """Write the buffered rest of a line."""
        if self._rest:
            self._put(self._rest, b"")
            self._rest = b""
        self._terminal.flush()

    def _put(self, line: bytes, end: bytes) -> None:
        text = clean(line.decode("utf-8", "surrogateescape"))
        self._terminal.write(text.encode("utf-8") + end)


_QUIET_SECONDS = 2.0
_LINE_SECONDS = 5.0


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[ShowProgress]:
    """Yield a function that shows progress on standard error, after the first two seconds."""
    if quiet:
        yield no_progress
        return
    from nwx.cli.terminal import drawn_bar, error_console

    screen = error_console()
    if screen.is_terminal:
        with drawn_bar(screen, _QUIET_SECONDS) as show:
            yield show
    else:
        yield _lines()


def print_above(text: str) -> None:
    """Print a line above the progress bar, if one is shown; `click.echo` would write into it."""
    sys.stdout.write(f"{text}\n")


def _lines() -> ShowProgress:
    begun = time.monotonic()
    shown = begun + _QUIET_SECONDS - _LINE_SECONDS

    def show(progress: WorkProgress) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= _LINE_SECONDS:
            shown = now
            words = [*_share(progress, now - begun), progress_counts(progress)]
            click.echo(f"{progress.step}: {', '.join(filter(None, words))}", err=True)

    return show


def _share(progress: WorkProgress, seconds: float) -> Iterator[str]:
    """Yield the share or amount done as text, and for bytes also the time left."""
    done = progress.done
    if progress.total:
        yield f"{done / progress.total:.0%}"
    if progress.in_bytes:
        if progress.total and done:
            yield f"{max(0.0, seconds * (progress.total / done - 1)):.0f} s left"
        yield size_words(done)
    elif not progress.total:
        yield f"{done:,}"


def progress_counts(progress: WorkProgress) -> str:
    """Return the counts of the work so far as text."""
    done, total = progress.files
    words = [f"{done:,}/{total:,} files"] if total else []
    return ", ".join([*words, *(counted(count, noun) for noun, count in progress.counts.items())])


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list; after the first, the default handlers are restored."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)
        for each in before:
            signal.signal(each, before[each])

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number in before:
            signal.signal(number, before[number])


UNRESTRICTED = "unrestricted"
"""The name of the option that makes commands ignore access rules."""


def is_unrestricted() -> bool:
    """Return whether the current command was run with `nwx --unrestricted`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get(UNRESTRICTED))


def command_user() -> str:
    """Return the name of the user who runs the command, for the log of changes."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@contextmanager
def opened_archive(settings: Settings) -> Iterator["Archive"]:
    """Open the archive as a reader sees it; with `--unrestricted`, all of it."""
    from nwx.archive import Archive, named_viewer

    with Archive(
        settings, named_viewer("administrator" if is_unrestricted() else "reader")
    ) as archive:
        yield archive
