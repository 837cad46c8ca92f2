"""nwx digests and add-digests"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import FIELDS_OPTION, print_problems, sources_of
from nwx.cli.output import (
    clean,
    counted,
    error_line,
    opened_archive,
    print_json,
    progress_bar,
    size_words,
    warn,
)
from nwx.settings import Settings
from nwx.values.digests import FURTHER_ALGORITHMS

if TYPE_CHECKING:
    from nwx.dedup.digest_lists import SideOfComparison


_ALGORITHM = option.choice_of(
    "--algorithm",
    FURTHER_ALGORITHMS,
    "Use digests of this algorithm from archives, where known.",
)


@click.group("digests")
def digests_command() -> None:
    """Exchange payload digests, and compare the payloads of two archives."""


@digests_command.command("export")
@click.argument("out", type=option.FILE)
@click.argument("files", nargs=-1)
@option.flag("--filter", "Write a Bloom filter instead of the list.", into="filtered")
@option.value(
    "--rate",
    option.Number(0, 0.5, min_open=True, max_open=True),
    "SHARE",
    "False-positive rate of the filter.",
    default=0.001,
)
@_ALGORITHM
@FIELDS_OPTION
@option.JSON_REPORT
@click.pass_obj
def export_list(
    settings: Settings,
    out: Path,
    files: tuple[str, ...],
    filtered: bool,
    rate: float,
    algorithm: str | None,
    fields: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Write the distinct payload digests of the archive, or of CDX files, to OUT.

    OUT has a line `digest bytes` for each payload, sorted; bytes is the length of its
    record. A filter can test for a given digest, but not list its digests. Captures hidden
    by access rules are left out.
    """
    sources = sources_of(files, fields) if files else ()
    with opened_archive(settings) as archive, progress_bar(quiet=quiet or as_json) as progress:
        report = archive.export_digests(
            out, sources, rate if filtered else 0.0, progress, algorithm=algorithm or ""
        )
    print_problems(report.problems, report.problems_total)
    if as_json:
        print_json({k: v for k, v in asdict(report).items() if k != "problems"})
    elif not quiet:
        digests = counted(report.digests, "digest")
        click.echo(f"{digests}, {size_words(report.bytes)}; {_unknown(report.without_digest)}")
    if filtered:
        warn(f"false-positive rate of {out}: {report.false_positive_rate:g}")
    return 1 if report.problems_total and not report.captures else 0


def _unknown(count: int) -> str:
    return f"{counted(count, 'capture')} without a digest"


@digests_command.command("compare")
@click.argument("first")
@click.argument("second", default="")
@_ALGORITHM
@option.JSON
@click.pass_obj
def compare_places(
    settings: Settings, first: str, second: str, algorithm: str | None, as_json: bool
) -> int:
    """Count the payloads in both FIRST and SECOND, by default the archive.

    Each is an archive (a folder, or the address of a search server), a CDX
    file, or a file of `nwx digests export`; one of them may be a filter.
    """
    with opened_archive(settings) as archive:
        found = archive.compare_digests(first, second, algorithm=algorithm or "")
    print_problems(found.reading.problems, found.reading.problems_total)
    code = 1 if found.reading.problems_total and not found.reading.captures else 0
    if as_json:
        print_json({k: v for k, v in asdict(found).items() if k != "reading"})
        return code
    click.echo(f"{counted(found.common, 'digest')} in common")
    if rate := found.false_positive_rate:
        warn(f"false-positive rate of the filter: {rate:g}")
    for side in (found.first, found.second):
        click.echo(_side(side))
    return code


def _side(side: "SideOfComparison") -> str:
    known = side.common_bytes is not None
    common = f"; {size_words(side.common_bytes)} in common" if known else ""
    place, digests = clean(side.place or "the archive"), counted(side.digests, "digest")
    return f"{place}: {digests}, {size_words(side.bytes)}, {side.share:.1%} in common{common}"


@click.command("add-digests")
@option.FILE_JOBS
@option.JSON_REPORT
@click.pass_obj
def add_digests_command(settings: Settings, jobs: int | None, as_json: bool, quiet: bool) -> int:
    """Add a SHA-256 to the SHA-1 of each payload, so that either finds it.

    Reads the imported files once; payloads with a SHA-256 get a SHA-1. Run again to resume
    a stopped run. Later imports store both digests (until `nwx import --digests none`). A
    payload that does not match its own digest gets none. The exit code is 1 if a file
    cannot be read.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet or as_json) as progress:
        report = archive.add_digests(jobs, progress)
    for error in report.errors:
        warn(error_line(error))
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        click.echo(
            f"{counted(report.files, 'file')} ({report.files_done:,} done before), "
            f"{counted(report.payloads, 'payload')}, {counted(report.digests, 'new digest')}, "
            f"{counted(report.unverified, 'payload')} without, "
            f"{counted(report.errors_total, 'error')}"
        )
    return 1 if report.errors_total else 0
