"""Options of commands that list duplicates: input, output, report, definition of a duplicate."""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from nwx.bulk.resources import Resources
from nwx.cli import option
from nwx.cli.output import (
    TerminalStream,
    clean,
    counted,
    json_text,
    print_json,
    size_words,
    warn_first,
)
from nwx.dedup.policies import Keep, Key, Revisits
from nwx.errors import CdxError, UsageError
from nwx.model import STANDARD_INPUT

if TYPE_CHECKING:
    from nwx.cdx.inputs import CdxSource
    from nwx.cdx.layouts import Layout
    from nwx.dedup.capture_filter import CaptureFilter
    from nwx.dedup.tasks import DedupReport


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.I)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LEAST_MEMORY_BYTES = 64 << 20
_PROBLEMS_SHOWN = 20
_ROWS_SHOWN = 20


class Size(click.ParamType[int]):
    """A number of bytes: 500, 10K, 2M, 1.5G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes; fails on anything else."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a size; write 500, 10K, 2M or 1.5G", param, ctx)
        return int(float(found[1]) * _UNITS[found[2].upper()])


SIZE = Size()

FIELDS_OPTION = option.string(
    "--fields",
    "LETTERS",
    "Fields of lines without a header, as CDX header letters: NbamskrMSVg.",
    default=None,
)
STRICT = option.flag("--strict", "Stop at the first unreadable line.")
MEMORY = option.value(
    "--memory",
    SIZE,
    None,
    "Memory limit of all processes; the rest goes to disk.",
    default="512M",
)
TMP = option.value(
    "--tmp", option.FOLDER, "FOLDER", "Folder for temporary files.  [default: TMPDIR]"
)
JOBS = option.count("--jobs", "N", "Number of processes.  [default: number of cores]")

list_options = option.option_set(
    option.file_path(
        "-o --output",
        "Write the list to FILE, which appears when complete.  [default: standard output]",
    ),
    FIELDS_OPTION,
    option.flag("--summary", "Report how much would be saved, by type and host."),
    option.flag("--json", "Print JSON.", into="as_json"),
    STRICT,
    MEMORY,
    TMP,
    JOBS,
    option.QUIET,
)


def sources_of(files: tuple[str, ...], fields: str | None) -> "list[CdxSource]":
    """Return the CDX sources of files; raises UsageError if there are none."""
    from nwx.cdx.inputs import CdxSource

    if not files:
        raise UsageError("there is nothing to read; name CDX files, or - for standard input")
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    layout = layout_of(fields)
    return [CdxSource(file, layout, name=_shown(file)) for file in files]


def layout_of(fields: str | None) -> "Layout | None":
    """Parse the layout of --fields, None if not given; raises UsageError on an invalid one."""
    from nwx.cdx.layouts import Layout, require_fields

    if not fields:
        return None
    letters = re.sub(r"[\s,]", "", fields).removeprefix("CDX")
    if not (letters.isascii() and letters.isalpha()):
        raise UsageError(f"--fields {fields!r}: use one letter per field, like NbamskrMSVg")
    layout = Layout(letters)
    try:
        require_fields(layout)
    except CdxError as error:
        raise UsageError(f"--fields: {error}") from error
    return layout


def _shown(file: str) -> str:
    return "standard input" if file == STANDARD_INPUT else file


def resources_of(memory: int, tmp: Path | None, jobs: int | None) -> Resources:
    """Return the resources; raises UsageError if memory is too low or the folder is missing."""
    if memory < _LEAST_MEMORY_BYTES:
        raise UsageError(f"--memory {size_words(memory)} is too little; use at least 64M")
    if tmp is not None and not tmp.is_dir():
        raise UsageError(f"--tmp {tmp} is not a folder")
    return Resources(memory, tmp, jobs)


@contextmanager
def list_output(path: Path | None) -> Iterator[BinaryIO]:
    """Yield the output stream of a list; for a terminal, without control characters."""
    if path is None:
        output = sys.stdout.buffer
        stream = TerminalStream(output) if output.isatty() else output
        yield cast(BinaryIO, stream)
        stream.flush()
    else:
        from nwx.bulk.whole_files import whole_file

        with whole_file(path) as stream:
            yield stream


def print_report(
    report: "DedupReport", noun: str, *, summary: bool, as_json: bool, listed: bool, quiet: bool
) -> None:
    """Print a report.

    It goes to standard error if the list itself goes to standard output (`listed`).
    """
    print_problems(report.problems, report.problems_total)
    if as_json:
        _echo_json(list_report_json(report), err=listed)
    elif not quiet:
        click.echo(_counts(report, noun), err=listed)
        if summary:
            _print_savings(report, noun, err=listed)


def exit_code(report: "DedupReport") -> int:
    """Return 1 if there were problems and no readable line, else 0."""
    return 1 if report.problems_total and not report.lines else 0


def list_report_json(report: "DedupReport") -> dict[str, Any]:
    """Return a report as JSON values."""
    from nwx.cdx.inputs import record_json

    savings = report.savings
    return {
        "lines": report.lines,
        "keys": report.keys,
        "duplicates": report.duplicates,
        "spared": report.spared,
        "not_captures": report.not_captures,
        "without_digest": report.without_digest,
        "filtered": report.filtered,
        "bytes_saved": savings.bytes,
        "by_mime": _rank_rows(savings.mime_duplicates, savings.mime_bytes),
        "by_host": _rank_rows(savings.host_duplicates, savings.host_bytes),
        "problems_total": report.problems_total,
        "problems": record_json(report.problems),
    }


def _rank_rows(duplicates: Counter[str], sizes: Counter[str]) -> list[dict[str, Any]]:
    return [
        {"value": value, "duplicates": count, "bytes": sizes[value]}
        for value, count in _ranked(duplicates, sizes)
    ]


def _ranked(duplicates: Counter[str], sizes: Counter[str]) -> list[tuple[str, int]]:
    return sorted(duplicates.items(), key=lambda item: (-sizes[item[0]], -item[1], item[0]))


def _echo_json(value: Any, *, err: bool) -> None:
    if err:
        click.echo(json_text(value), err=True)
    else:
        print_json(value)


def print_problems(problems: Sequence[CdxError], total: int) -> None:
    """Print the first unreadable lines, and the number of the others."""
    shown = min(len(problems), _PROBLEMS_SHOWN)
    lines = map(place_and_message, problems)
    warn_first(lines, shown, total, "line", " that cannot be read")


def place_and_message(problem: CdxError) -> str:
    """Return `file:line: message`, or the message of a problem that is not of a line."""
    return f"{problem.file}:{problem.line}: {problem}" if problem.file else str(problem)


def _counts(report: "DedupReport", noun: str) -> str:
    counts = [f"{counted(report.lines, 'line')}"]
    if report.keys:
        counts.append(f"{counted(report.keys, 'key')}")
    counts.append(counted(report.duplicates, noun.removesuffix("s")))
    for count, words in (
        (report.spared, "of the same second as the one kept"),
        (report.not_captures, "of records that are not captures"),
        (report.without_digest, "without a digest"),
        (report.filtered, "left out"),
        (report.problems_total, "that cannot be read"),
    ):
        if count:
            counts.append(f"{count:,} {words}")
    return ", ".join(counts)


def _print_savings(report: "DedupReport", noun: str, *, err: bool) -> None:
    from rich.table import Table

    from nwx.cli.terminal import console

    savings = report.savings
    click.echo(f"{size_words(savings.bytes)} in the records of these {noun}", err=err)
    for name, duplicates, sizes in (
        ("MIME type", savings.mime_duplicates, savings.mime_bytes),
        ("host", savings.host_duplicates, savings.host_bytes),
    ):
        table = Table(name, noun, "bytes", box=None, header_style="bold")
        ranked = _ranked(duplicates, sizes)
        for value, count in ranked[:_ROWS_SHOWN]:
            table.add_row(clean(value), f"{count:,}", size_words(sizes[value]))
        if len(ranked) > _ROWS_SHOWN:
            table.add_row(f"… and {len(ranked) - _ROWS_SHOWN:,} more", "", "")
        console(err=err).print(table)


SELECTION_OPTIONS = ("key", "keep", "revisits", "min_size", "mime", "not_mime")
"""The names of the options for `selection_of`."""

selected_records = option.option_set(
    option.value(
        "--min-size",
        SIZE,
        None,
        "Only records of at least this length.",
        default=0,
        show_default=False,
    ),
    option.repeated("--mime", "TYPE", "Only these MIME types (`image/*`)."),
    option.repeated("--not-mime", "TYPE", "Leave out these MIME types."),
)
dedup_options = option.option_set(
    option.choice_of(
        "--key",
        Key,
        "What duplicates have in common.",
        default=Key.URL_DIGEST,
    ),
    option.choice_of(
        "--keep",
        Keep,
        "Which capture of a key is kept, and not listed; `original`: the oldest that is not a"
        " revisit.",
        default=Keep.OLDEST,
    ),
    option.choice_of(
        "--revisits",
        (Revisits.IN, Revisits.OUT),
        "Include revisit records, or leave them out.",
        default=Revisits.IN,
    ),
    selected_records,
    option.repeated(
        "--against",
        "PLACE",
        help="Also list captures already held by a CDX file, a list, or an archive"
        " (a folder, or the address of a search server).",
    ),
)


def selection_of(
    *,
    min_size: int,
    mime: tuple[str, ...],
    not_mime: tuple[str, ...],
    key: str = Key.URL_DIGEST,
    keep: str = Keep.OLDEST,
    revisits: str = Revisits.IN,
) -> "CaptureFilter":
    """Return the selection given by the options `dedup_options` or `selected_records`."""
    from nwx.dedup.capture_filter import CaptureFilter

    return CaptureFilter(
        key=Key(key),
        keep=Keep(keep),
        min_bytes=min_size,
        mime_in=tuple(pattern.lower() for pattern in mime),
        mime_out=tuple(pattern.lower() for pattern in not_mime),
        revisits=Revisits(revisits),
    )
