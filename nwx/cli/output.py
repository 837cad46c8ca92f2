"""Texts from archives on their way to a terminal, a file or another program."""

import json
import re
import sys
from typing import Any

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

# What steers a terminal, or turns the order of what is read: C0, DEL, C1,
# bidirectional signs, line separators; and surrogates, which cannot be written.
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LEAST_CELLS = 24
_IN_JSON = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Return one line that cannot steer a terminal."""
    return _STEERING.sub(lambda sign: " " if sign[0] in "\t\r\n" else "\ufffd", text)


def clean_lines(text: str) -> str:
    """Return text that cannot steer a terminal, line by line as it is."""
    return "\n".join(clean(line) for line in text.split("\n"))


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON that is safe to look at, every script readable."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _IN_JSON.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def print_json(value: Any) -> None:
    """Print a value as JSON: on a line for programs, indented on a terminal."""
    click.echo(json_text(value, indent=2 if sys.stdout.isatty() else None))


def console(*, err: bool = False) -> Console:
    """Return where tables and bars are drawn; wide and without colours in a pipe or a file."""
    shown = Console(stderr=err, highlight=False, soft_wrap=False)
    if not shown.is_terminal and "COLUMNS" not in shown._environ:
        return Console(stderr=err, highlight=False, width=120)
    return shown


def size_words(size: float | None) -> str:
    """Return a number of bytes as people write it, "" for None."""
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


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is one: "1 error", "2,000 errors"."""
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {plural}"


def shortened(text: str, width: int) -> str:
    """Return text of at most `width` terminal cells, with "…" in place of its middle."""
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, width // 2).rstrip()
    tail = text[-max(1, width - cell_len(head) - 1) :]
    while cell_len(head) + 1 + cell_len(tail) > width and tail:
        tail = tail[1:]
    return f"{head}…{tail}"


class OneLine:
    """A URL or a file name in a table: on a terminal shortened in the middle, elsewhere whole."""

    def __init__(self, text: str, style: str = "") -> None:
        self._text = clean(text)
        self._style = style

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        width = cell_len(self._text)
        return Measurement(min(width, _LEAST_CELLS), width).clamp(0, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = not console.is_terminal
        text = self._text if whole else shortened(self._text, options.max_width)
        yield Text(text, style=self._style, overflow="fold")
