"""nwx savings"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import (
    FIELDS_OPTION,
    JOBS,
    MEMORY,
    STRICT,
    TMP,
    print_problems,
    resources_of,
    selected_records,
    selection_of,
    sources_of,
)
from nwx.cli.output import clean, counted, print_json, progress_bar, size_words
from nwx.dedup.policies import Key

if TYPE_CHECKING:
    from rich.table import Table

    from nwx.dedup.digest_lists import HeldSavings
    from nwx.dedup.duplicates import SavingsReport


_ROWS_SHOWN = 10
_WORDS = {
    Key.URL_DIGEST: "the same URL",
    Key.URLKEY_DIGEST: "the same URL in any spelling",
    Key.DIGEST: "any URL",
}


@click.command("savings")
@click.argument("files", nargs=-1)
@selected_records
@option.choice_of(
    "--by",
    Key,
    "The policy to show by type and host.",
    default=Key.URL_DIGEST,
)
@option.string(
    "--held",
    "FILE",
    "Also count captures with a payload in FILE, written by `nwx digests export`.",
    default=None,
)
@FIELDS_OPTION
@option.JSON
@STRICT
@MEMORY
@TMP
@JOBS
@option.NO_PROGRESS
def command(
    files: tuple[str, ...],
    by: str,
    held: str | None,
    fields: str | None,
    as_json: bool,
    strict: bool,
    quiet: bool,
    memory: int,
    tmp: Path | None,
    jobs: int | None,
    **selected: Any,
) -> int:
    """Estimate what deduplication would have saved, from CDX files.

    FILES are read as by dedup-cdx. Three policies are compared: a duplicate has the same
    digest and the same URL; the same digest and urlkey; or the same digest at any URL. The
    saving is the length of the duplicates' records minus the length of the revisit records
    that would replace them. Revisits that are already in FILES are counted separately. With
    --held, captures whose payload is in the list or filter FILE are also counted: the
    saving of an import into the archive of these digests.
    """
    from nwx.dedup.duplicates import measure_savings

    with progress_bar(quiet=quiet) as progress:
        report = measure_savings(
            sources_of(files, fields),
            list(Key),
            selection_of(**selected),
            held=held,
            resources=resources_of(memory, tmp, jobs),
            strict=strict,
            progress=progress,
        )
    print_problems(report.reading.problems, report.reading.problems_total)
    if as_json:
        print_json(savings_report_json(report))
    else:
        _print(report, Key(by), is_filtered=any(selected.values()))
    return 1 if report.reading.problems_total and not report.reading.lines else 0


def savings_report_json(report: "SavingsReport") -> dict[str, Any]:
    """Return a report as JSON values."""
    from nwx.cdx.inputs import record_json

    captures = report.captures
    return {
        "captures": report.count,
        "bytes": captures.bytes,
        "without_length": report.without_length,
        "revisits": report.revisits,
        "revisits_bytes": report.revisits_bytes,
        "revisit_bytes": report.revisit_bytes,
        "policies": [_policy_json(report, key) for key in report.policies],
        **({"held": _held_json(report, report.held)} if report.held else {}),
        "lines": report.reading.lines,
        "not_captures": report.reading.not_captures,
        "without_digest": report.reading.without_digest,
        "filtered": report.reading.filtered,
        "problems_total": report.reading.problems_total,
        "problems": record_json(report.reading.problems),
    }


def _held_json(report: "SavingsReport", held: "HeldSavings") -> dict[str, Any]:
    return asdict(held) | {"net_bytes": report.net_of(held.captures, held.bytes)}


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
    """Return counts and savings by type and by host, largest savings first."""
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


def _print(report: "SavingsReport", by: Key, *, is_filtered: bool) -> None:
    # Filters by type and size do not apply to revisits: most lines have the type warc/revisit, and
    # the length is not the original's.
    revisits = counted(report.revisits, "revisit") + " of any type and size" * is_filtered
    click.echo(
        f"{counted(report.count, 'capture')}, {size_words(report.captures.bytes)};"
        f" {revisits}, {size_words(report.revisits_bytes)}"
    )
    if report.without_length:
        click.echo(f"the record length of {counted(report.without_length, 'capture')} is not known")
    if report.reading.not_captures:
        click.echo(
            f"{counted(report.reading.not_captures, 'line')} of records that are not captures"
        )
    if held := report.held:
        chance = f", {held.false_positive_rate:g} of the others" if held.false_positive_rate else ""
        click.echo(
            f"payload already held: {counted(held.captures, 'capture')}"
            f" ({_share(held.captures, report.count)}{chance}),"
            f" {size_words(report.net_of(held.captures, held.bytes))} saved"
        )
    from nwx.cli.terminal import console

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
    console().print(table)
    for name, rows in zip(("MIME type", "host"), _groups(report, by).values(), strict=True):
        console().print(_rows_table(name, rows))


def _rows_table(name: str, rows: list[SavingsRow]) -> "Table":
    table = _table(name, "captures", "duplicates", "bytes", "of duplicates")
    for value, captures, duplicates, size, saved in rows[:_ROWS_SHOWN]:
        table.add_row(
            clean(value), f"{captures:,}", f"{duplicates:,}", size_words(size), size_words(saved)
        )
    if len(rows) > _ROWS_SHOWN:
        table.add_row(f"… and {len(rows) - _ROWS_SHOWN:,} more")
    return table


def _table(first: str, *others: str) -> "Table":
    from nwx.cli.terminal import number_table  # help needs no rich

    return number_table(first, *others)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""
