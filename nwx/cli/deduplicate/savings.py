"""nwx savings"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import (
    FIELDS_OPTION,
    JOBS,
    MEMORY,
    SIZE,
    STRICT,
    TMP,
    print_problems,
    resources_of,
    sources_of,
)
from nwx.cli.output import clean, counted, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.dedup.policies import Key

if TYPE_CHECKING:
    from rich.table import Table

    from nwx.dedup.duplicates import SavingsReport


_ROWS_SHOWN = 10
_WORDS = {
    Key.URL_DIGEST: "the same URL",
    Key.URLKEY_DIGEST: "the same URL in any spelling",
    Key.DIGEST: "any URL",
}


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    files: tuple[str, ...]
    min_size: int
    mime: tuple[str, ...]
    not_mime: tuple[str, ...]
    by: str
    fields: str | None
    as_json: bool
    strict: bool
    memory: int
    tmp: Path | None
    jobs: int | None
    quiet: bool


@click.command("savings")
@click.argument("files", nargs=-1)
@option.value(
    "--min-size", SIZE, None, "Only records of at least this length.", default=0, show_default=False
)
@option.repeated("--mime", "TYPE", "Only these MIME types (`image/*`).")
@option.repeated("--not-mime", "TYPE", "Leave out these MIME types.")
@option.choice_of(
    "--by",
    [each.value for each in Key],
    "The policy to show by type and host.",
    default=Key.URL_DIGEST.value,
)
@FIELDS_OPTION
@option.JSON
@STRICT
@MEMORY
@TMP
@JOBS
@option.NO_PROGRESS
def command(**given: Any) -> int:
    """Estimate what deduplication would have saved, from CDX files.

    FILES are read as by dedup-cdx. Three policies are compared: a duplicate has
    the same digest and the same URL; the same digest and urlkey; or the same
    digest at any URL. The saving is the length of the duplicates' records minus
    the length of the revisit records that would replace them. Revisits that are
    already in FILES are counted separately.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.dedup.capture_filter import CaptureFilter
    from nwx.dedup.duplicates import measure_savings

    asked = _Options(**given)
    selection = CaptureFilter(
        min_bytes=asked.min_size,
        mime_in=tuple(pattern.lower() for pattern in asked.mime),
        mime_out=tuple(pattern.lower() for pattern in asked.not_mime),
    )
    with progress_bar(quiet=asked.quiet) as progress:
        report = measure_savings(
            sources_of(asked.files, asked.fields),
            list(Key),
            selection,
            resources=resources_of(asked.memory, asked.tmp, asked.jobs),
            strict=asked.strict,
            progress=progress,
        )
    print_problems(report.reading.problems, report.reading.problems_total)
    if asked.as_json:
        print_json(savings_report_json(report))
    else:
        _print(report, Key(asked.by))
    return 1 if report.reading.problems_total and not report.reading.lines else 0


def savings_report_json(report: "SavingsReport") -> dict[str, Any]:
    """Return a report as JSON values."""
    captures = report.captures
    return {
        "captures": report.count,
        "bytes": captures.bytes,
        "without_length": report.without_length,
        "revisits": report.revisits,
        "revisits_bytes": report.revisits_bytes,
        "revisit_bytes": report.revisit_bytes,
        "policies": [_policy_json(report, key) for key in report.policies],
        "lines": report.reading.lines,
        "not_captures": report.reading.not_captures,
        "without_digest": report.reading.without_digest,
        "filtered": report.reading.filtered,
        "problems_total": report.reading.problems_total,
        "problems": [
            {"file": each.file, "line": each.line, "message": str(each)}
            for each in report.reading.problems
        ],
    }


def _policy_json(report: "SavingsReport", key: Key) -> dict[str, Any]:
    found = report.policies[key]
    return {
        "policy": key.value,
        "duplicates": found.duplicates,
        "bytes": found.savings.bytes,
        "net_bytes": report.net_bytes(key),
        **{
            name: [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
            for name, rows in _groups(report, key).items()
        },
    }


_COLUMNS = ("value", "captures", "duplicates", "bytes", "bytes_of_duplicates")
SavingsRow = tuple[str, int, int, int, int]


def _groups(report: "SavingsReport", key: Key) -> dict[str, list[SavingsRow]]:
    """Return what is there and what would be saved of it, by type and by host, most first."""
    all_of, saved = report.captures, report.policies[key].savings
    return {
        "by_mime": _rows(
            all_of.mime_duplicates, saved.mime_duplicates, all_of.mime_bytes, saved.mime_bytes
        ),
        "by_host": _rows(
            all_of.host_duplicates, saved.host_duplicates, all_of.host_bytes, saved.host_bytes
        ),
    }


def _rows(
    captures: Mapping[str, int],
    duplicates: Mapping[str, int],
    size: Mapping[str, int],
    saved: Mapping[str, int],
) -> list[SavingsRow]:
    rows = [
        (value, count, duplicates[value], size[value], saved[value])
        for value, count in captures.items()
    ]
    return sorted(rows, key=lambda row: (-row[4], -row[2], -row[1], row[0]))


def _print(report: "SavingsReport", by: Key) -> None:
    click.echo(
        f"{counted(report.count, 'capture')}, {size_words(report.captures.bytes)};"
        f" {counted(report.revisits, 'revisit')}, {size_words(report.revisits_bytes)}"
    )
    if report.without_length:
        click.echo(f"the record length of {counted(report.without_length, 'capture')} is not known")
    if report.reading.not_captures:
        click.echo(
            f"{counted(report.reading.not_captures, 'line')} of records that are no captures"
        )
    table = _table("a duplicate has", "duplicates", "share", "saved", "share")
    for key, found in report.policies.items():
        net = report.net_bytes(key)
        table.add_row(
            _WORDS[key],
            f"{found.duplicates:,}",
            _share(found.duplicates, report.count),
            size_words(net),
            _share(net, report.captures.bytes),
        )
    _print_table(table)
    for name, rows in zip(("MIME type", "host"), _groups(report, by).values(), strict=True):
        _print_rows(name, rows)


def _print_rows(name: str, rows: list[SavingsRow]) -> None:
    table = _table(name, "captures", "duplicates", "bytes", "of duplicates")
    for value, captures, duplicates, size, saved in rows[:_ROWS_SHOWN]:
        table.add_row(
            clean(value), f"{captures:,}", f"{duplicates:,}", size_words(size), size_words(saved)
        )
    if len(rows) > _ROWS_SHOWN:
        table.add_row(f"… and {len(rows) - _ROWS_SHOWN:,} more")
    _print_table(table)


def _print_table(table: "Table") -> None:
    from nwx.cli.terminal import console

    console().print(table)


def _table(first: str, *others: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""
