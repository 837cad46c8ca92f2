"""nwx takedown"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    clean,
    command_user,
    counted,
    opened_archive,
    print_json,
    progress_bar,
    warn,
)
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.maintenance.purge import PurgeReport, Takedown
    from nwx.maintenance.takedown_targets import RecordPlace


_RECORDS_SHOWN = 20
_FILES_SHOWN = 5


@click.command("takedown")
@click.argument("target", metavar="URL|DIGEST|FILE")
@option.string("--collection", "NAME", "Only captures of this collection.")
@option.string("--from", "DATE", "Only captured on this date or later.", into="from_")
@option.string("--to", "DATE", "Only captured on this date or earlier.")
@option.string("--reason", "TEXT", "Reason, stored in the rule and its log.")
@option.flag("--purge", "Remove the captures permanently from all indices.")
@option.value(
    "--sheet",
    click.Path(path_type=Path, dir_okay=False, writable=True),
    "FILE",
    "Write a report for the owner: what, where, when, by whom, how verified.",
    default=None,
)
@option.JSON_REPORT
@click.pass_obj
def command(
    settings: Settings, /, sheet: Path | None, as_json: bool, quiet: bool, **given: Any
) -> int:
    """Hide captures from readers, or purge them.

    Name a URL, a URL prefix followed by *, a host, a domain as *.HOST, a digest (sha1:…),
    or an archive file of the archive. An access rule excludes the captures at once: only
    curators and administrators find them. `nwx access remove` reverts it.

    With --purge text, captures, dates and links are also removed from all indices and their
    files, and importing the same files again does not bring them back. This cannot be
    undone. If interrupted, run the same command again. Archive files are not changed: the
    report lists the records that still contain what was taken down. The exit code is 1 if
    deleted entries could not be erased from files in use, or from replicas on offline nodes
    of a search server; run it again then.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet or as_json) as show:
        done = archive.takedown(**given, by=command_user(), progress=show)
    report = done.purge
    if as_json:
        print_json(done.values())
    elif not quiet:
        click.echo(_words(done))
    if report and not quiet:
        _warn(report)
    if sheet:
        sheet.write_text(done.sheet(), encoding="utf-8")
    return 1 if report and (report.left or report.away) else 0


def _words(done: "Takedown") -> str:
    return "\n".join((*_taken_words(done), *(_purged_words(done.purge) if done.purge else ())))


def _taken_words(done: "Takedown") -> Iterator[str]:
    rule, taken, report = done.rule, done.taken, done.purge
    is_host = rule.scope.prefix and not {"/", ","}.intersection(rule.scope.url)
    reading = " (it was read as a host; `nwx files` lists the files)" if is_host else ""
    more_files = len(taken.files) > _FILES_SHOWN
    reverting = "" if report else f"; `nwx access remove {rule.id}` reverts it"
    yield f"rule {rule.id}: the captures of {clean(rule.scope.url)} are excluded{reverting}"
    files = clean(", ".join(taken.files[:_FILES_SHOWN])) + (", …" if more_files else "")
    further = " more" if report and report.records else ""
    if taken.captures:
        yield f"{taken.words()}, in {files}"
    else:
        yield f"the archive has no{further} such captures{reading}; the rule excludes later ones"
    if taken.shown:
        yield f"readers still see {counted(taken.shown, 'capture')}: other rules allow them"
    if taken.named and report is None:
        named = " ".join(taken.named)
        yield f"viewers named by rules still see some: `nwx access remove {named}` ends this"


def _purged_words(report: "PurgeReport") -> Iterator[str]:
    removed = (
        (report.captures, "capture"),
        (report.documents, "document"),
        (report.dates, "date"),
        (report.scores, "crawl score"),
        (report.checks, "playback check"),
        (report.pictures, "picture"),
        (report.graphs, "triple graph"),
        (report.specifications, "crawl specification changed"),
    )
    words = [counted(number, noun) for number, noun in removed if number]
    yield f"purged: {', '.join(words) or 'nothing (more)'} in {report.seconds:.1f} s"
    if report.moved:
        moved = counted(report.moved, "document")
        yield f"{moved} kept: the same text was captured elsewhere, and is shown from there"
    if report.rebuilt:
        yield f"rebuilt: {', '.join(report.rebuilt)}"
    if report.records:
        yield f"{counted(len(report.records), 'record')} of archive files still contain it:"
        yield from (f"  {_place(one)}" for one in report.records[:_RECORDS_SHOWN])
        if (more := len(report.records) - _RECORDS_SHOWN) > 0:
            yield f"  … and {more:,} more; --json lists them"


def _place(record: "RecordPlace") -> str:
    length = "" if record.length is None else f", {record.length:,} bytes"
    where = f"{record.collection}/{record.file} at {record.offset:,}"
    return clean(f"{where} ({record.record_type}{length})")


def _warn(report: "PurgeReport") -> None:
    if report.left:
        warn(
            f"deleted entries could not be erased from {', '.join(report.left)},"
            " which are in use; run the same command again"
        )
    if report.away:
        warn(
            f"offline nodes have replicas of {', '.join(report.away)}, which still contain it;"
            " start these nodes, wait until `nwx stats` is green, and run the same"
            " command again"
        )
    if report.naming:
        named = clean(", ".join(report.naming))
        warn(
            f"crawl specifications still name what was purged: {named};"
            " save them without it, or remove the crawl (`nwx crawls remove`)"
        )
    for address in report.elsewhere:
        warn(
            f"the dates index {clean(address)} belongs to another archive and has dates of these"
            " captures; purge them there"
        )
