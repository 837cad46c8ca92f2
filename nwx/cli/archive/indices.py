"""nwx stats, files, closure, dump, reshard, upgrade and enrich"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    clean,
    counted,
    error_line,
    json_text,
    opened_archive,
    print_json,
    progress_bar,
    size_words,
    warn,
)
from nwx.errors import UsageError
from nwx.model import IndexName
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.maintenance.holdings import ImportedFile


_Health = Mapping[str, Mapping[str, Any]]


@click.command("stats")
@option.JSON
@click.pass_obj
def stats_command(settings: Settings, as_json: bool) -> int:
    """Show the size of each index and, on a search server, the health of its shards.

    A shard without a copy on any node is lost: the index is red, and its entries are not
    counted. It is yellow if only replicas are missing. The exit code is 1 if a shard is
    lost.
    """
    with opened_archive(settings) as archive:
        sizes, health = archive.sizes()
    if as_json:
        print_json(sizes | {"shards": health})
    else:
        _print(sizes, health)
    lost = {name: one["lost"] for name, one in health.items() if one["lost"]}
    for name, numbers in lost.items():
        shards = counted(len(numbers), "shard")
        words = f"nwx: {shards} of {name} lost ({', '.join(map(str, numbers))})"
        click.echo(f"{words}; start the nodes that held them", err=True)
    return 1 if lost else 0


def _print(sizes: dict[str, Any], health: _Health) -> None:
    from nwx.cli.terminal import console, plain_table

    numbers = ("shards", "replicas", "missing")
    headings = ("index", "entries", "size", *(("health", *numbers) if health else ()))
    table = plain_table(*headings, right=("entries", "size", *numbers))
    shown = {*IndexName, *(f"{IndexName.DATES}@{name}" for name in sizes["attached"])}
    for index in IndexName:
        size, shards = size_words(sizes["bytes"][index]), _shards(health.get(index.value))
        table.add_row(index.value, _number(sizes[index]), size, *shards)
        if index is IndexName.DATES:
            for name, one in sizes["attached"].items():
                shards = _shards(health.get(f"{index}@{name}"))
                size = size_words(one["bytes"])
                table.add_row(f"  {clean(name)}", _number(one["entries"]), size, *shards)
    for name in health:
        if name not in shown:
            table.add_row(clean(name), "", "", *_shards(health[name]))
    console().print(table)


def _number(entries: int | None) -> str:
    return "" if entries is None else f"{entries:,}"


def _shards(found: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the cells with the shard health of an index."""
    if found is None:
        return ()
    missing = found["missing_copies"]
    numbers = found["shards"], found["replicas"]
    return (found["status"], *map(str, numbers), str(missing) if missing else "")


@click.command("files")
@option.flag("--json", "Print JSON lines.", into="as_json")
@click.pass_obj
def files_command(settings: Settings, as_json: bool) -> None:
    """List the imported files, those being imported, and those that could not be read.

    On a server, files being imported are shown with the host and process of the import.
    """
    with opened_archive(settings) as archive:
        found, missing = archive.imported_files(), archive.missing_files()
    if as_json:
        for file, claim in found:
            click.echo(json_text(asdict(file) | {"claim": asdict(claim) if claim else None}))
    else:
        _print_files(found)
        for one in missing:
            name, revisits = one.required["filename"], counted(one.revisits, "revisit")
            click.echo(
                clean(
                    f"{one.file} requires {name}, which is not imported: {revisits} cannot be"
                    " played"
                )
            )


def _print_files(found: "list[ImportedFile]") -> None:
    from rich.text import Text

    from nwx.cli.terminal import OneLine, console, plain_table

    numbers = ("size", "captures", "errors")
    table = plain_table("collection", "file", *numbers, right=numbers)
    table.add_column("state", no_wrap=True)
    for one in found:
        file = one.file
        table.add_row(
            Text(clean(file.collection)),
            OneLine(file.name),
            size_words(file.size),
            f"{file.counts.get('captures', 0):,}",
            f"{file.counts.get('errors', 0):,}",
            Text(clean(one.state)),
        )
    console().print(table)


@click.command("dump")
@click.argument("index", type=option.HintedChoice([name.value for name in IndexName]))
@click.pass_obj
def dump_command(settings: Settings, index: str) -> None:
    """Write an index as JSON lines, ordered by id."""
    with opened_archive(settings) as archive:
        for entry in archive.dump(index):
            click.echo(json_text(dict(entry)))


_INDICES = [
    index.value for index in IndexName if index not in (IndexName.FACETS, IndexName.INLINKS)
]
"""The indices to reshard; those that a build replaces get their shards from it."""


@click.command("reshard")
@click.argument("index", type=option.HintedChoice(_INDICES), metavar="INDEX")
@option.count("--shards", "N", "New number of shards.")
@option.flag("--undo", "Make INDEX writable again after a killed reshard.")
@option.JSON
@option.NO_PROGRESS
@click.pass_obj
def reshard_command(
    settings: Settings, index: str, shards: int | None, undo: bool, as_json: bool, quiet: bool
) -> None:
    """Change the number of shards of an index on a search server.

    A multiple of the current number is reached by splitting shards, any other number by
    copying entries. Meanwhile INDEX can be searched, but not written to. If killed, run the
    same command again.
    """
    if (shards is None) != undo:
        raise UsageError("name the number of shards (--shards N), or --undo")
    with opened_archive(settings) as archive, progress_bar(quiet=quiet or as_json) as progress:
        done = archive.reshard(index, shards, progress)
    if as_json:
        print_json(done)
    elif not quiet:
        click.echo(f"{index} has {counted(done['shards'], 'shard')} ({done['how']})")


@click.command("upgrade")
@option.JSON_REPORT
@click.pass_obj
def upgrade_command(settings: Settings, as_json: bool, quiet: bool) -> None:
    """Upgrade an archive made by an older version of nwx.

    If killed, run the same command again to resume. On a search server, the indices that
    `nwx check` reports as older are copied as by `nwx reshard`, with the same number of
    shards.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet or as_json) as progress:
        done = asdict(archive.upgrade(progress))
    if as_json:
        print_json(done)
    elif not quiet:
        click.echo("; ".join(_upgraded(done)) or "the archive is up to date")


def _upgraded(done: Mapping[str, Any]) -> Iterator[str]:
    if done["formats"]:
        older, new = done["formats"]
        packed = f", {counted(done['captures'], 'capture')} packed" if done["captures"] else ""
        sizes = " -> ".join(map(size_words, done["bytes"]))
        yield f"archive: format {older} -> {new}{packed}, {sizes}"
    yield from (f"{index} rebuilt" for index in done["indices"])


@click.command("closure")
@click.argument("files", nargs=-1, required=True)
@option.JSON
@click.pass_obj
def closure_command(settings: Settings, files: tuple[str, ...], as_json: bool) -> int:
    """List all files needed to play the revisits in FILES.

    FILES are names or paths of imported files. The exit code is 1 if a needed file was not
    imported.
    """
    with opened_archive(settings) as archive:
        found = archive.closure(files)
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        for one in found:
            missing = "" if one.held else "missing, "
            place = one.path or one.file or "originals not in any file"
            revisits = counted(one.revisits, "revisit")
            click.echo(clean(f"{place}  {missing}{revisits} of {one.needed_by}"))
    return 0 if all(one.held for one in found) else 1


@click.command("enrich")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option.FILE_JOBS
@option.JSON_REPORT
@click.pass_obj
def enrich_command(
    settings: Settings, names: tuple[str, ...], jobs: int | None, as_json: bool, quiet: bool
) -> int:
    """Extract extra fields from payloads, for searching and counting.

    \b
    NAME is all (the default), none, or some of
      format     PRONOM id and type by signature: puid, content_type_droid
      extension  extension of the URL: content_type_ext
      server     server software and IP address: server, warc_ip
      generator  software that made the page: generator
      license    address of the licence: license_url
      keywords   keywords of the page: keywords
      dates      publication_date, publication_year, last_modified, last_modified_year
      elements   HTML elements and how often they occur: elements_used
      text-hash  fuzzy hash of the text: tlsh_hash
      favicon    hash of the favicon: favicon_hash
      exif       place and time of a photograph: exif_location, exif_date

    Reads the imported files once; run again to resume a stopped run. Later imports extract
    the same fields (until `nwx import --enrich none`). The exit code is 1 if a file cannot
    be read.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet or as_json) as progress:
        report = archive.enrich(names, jobs, progress)
    for error in report.errors:
        warn(error_line(error))
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        click.echo(
            f"{counted(report.files, 'file')} ({report.files_done:,} done before), "
            f"{counted(report.captures, 'capture')}, "
            f"{counted(report.documents, 'changed document')}, "
            f"{counted(report.errors_total, 'error')}"
        )
    return 1 if report.errors_total else 0
