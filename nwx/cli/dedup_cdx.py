"""dedup-cdx, also nwx dedup-cdx"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.cli.list_commands import (
    SIZE,
    exit_code,
    list_options,
    list_output,
    print_report,
    resources_of,
    sources_of,
)
from nwx.cli.main import run
from nwx.cli.progress import progress_bar
from nwx.dedup.choices import Keep, Key, Revisits
from nwx.model import IndexName
from nwx.settings import Settings, load_settings

if TYPE_CHECKING:
    from nwx.cdx.lines import CdxLine

_SHOWN_EVERY = 1_000


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    files: tuple[str, ...]
    key: str
    keep: str
    revisits: str
    min_size: int
    mime: tuple[str, ...]
    not_mime: tuple[str, ...]
    against: tuple[str, ...]
    output: Path | None
    fields: str | None
    summary: bool
    as_json: bool
    strict: bool
    memory: int
    tmp: Path | None
    jobs: int | None
    quiet: bool


@click.command("dedup-cdx", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1)
@click.option(
    "--key",
    type=click.Choice([each.value for each in Key]),
    default=Key.URL_DIGEST.value,
    show_default=True,
    help="What duplicates have in common.",
)
@click.option(
    "--keep",
    type=click.Choice([each.value for each in Keep]),
    default=Keep.OLDEST.value,
    show_default=True,
    help="Which capture of a key is not listed; `original`: the oldest that is not a revisit.",
)
@click.option(
    "--revisits",
    type=click.Choice([Revisits.IN.value, Revisits.OUT.value]),
    default=Revisits.IN.value,
    show_default=True,
    help="Include revisit records, or leave them out.",
)
@click.option("--min-size", type=SIZE, default=0, help="Only records of at least this length.")
@click.option("--mime", multiple=True, metavar="TYPE", help="Only these MIME types (`image/*`).")
@click.option("--not-mime", multiple=True, metavar="TYPE", help="Leave out these MIME types.")
@click.option(
    "--against",
    multiple=True,
    metavar="PLACE",
    help="List also what is held already: by a CDX file, a list, or an archive"
    " (a folder, or the http(s) address of an Elasticsearch).",
)
@list_options
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> int:
    """List the duplicates in CDX files.

    Duplicates are the second and later captures of a URL and digest.

    FILES are CDX files of 7, 9, 10, 11 or 14 fields or with a header, or CDXJ
    files; plain, gzip or zstd; sorted or not; - is standard input. The list has
    one line `date digest url` for each duplicate, in the order and with the
    values of the input. `nwx import -e` leaves out the captures on it, and
    `add-dates` adds their dates.

    All captures of a URL and digest are compared, in whatever files they are.
    Lines that cannot be read are reported and skipped; lines without a digest
    are never duplicates.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.cdx.inputs import CdxSource
    from nwx.dedup.capture_filter import CaptureFilter
    from nwx.dedup.duplicates import find_duplicates
    from nwx.engine.open import is_server

    asked = _Options(**given)
    sources = sources_of(asked.files, asked.fields)
    archives = [place for place in asked.against if is_server(place) or Path(place).is_dir()]
    sources += [CdxSource(place, held=True) for place in asked.against if place not in archives]
    selection = CaptureFilter(
        key=Key(asked.key),
        keep=Keep(asked.keep),
        min_bytes=asked.min_size,
        mime_in=tuple(pattern.lower() for pattern in asked.mime),
        mime_out=tuple(pattern.lower() for pattern in asked.not_mime),
        revisits=Revisits(asked.revisits),
    )
    with list_output(asked.output) as stream, progress_bar(quiet=asked.quiet) as progress:
        report = find_duplicates(
            sources,
            stream,
            selection,
            resources=resources_of(asked.memory, asked.tmp, asked.jobs),
            held=_held(settings or load_settings({}), archives, progress) if archives else None,
            strict=asked.strict,
            summary=asked.summary or asked.as_json,
            progress=progress,
        )
    print_report(
        report,
        "duplicates",
        summary=asked.summary,
        as_json=asked.as_json,
        listed=asked.output is None,
        quiet=asked.quiet,
    )
    return exit_code(report)


def _held(settings: Settings, archives: list[str], progress: ShowProgress) -> "Iterator[CdxLine]":
    from nwx.cdx.lines import CdxLine
    from nwx.engine.open import open_engine

    for place in archives:
        with open_engine(replace(settings, engine=place), read_only=True) as engine:
            total = engine.count(IndexName.CAPTURES)
            for number, entry in enumerate(engine.scan(IndexName.CAPTURES)):
                if not number % _SHOWN_EVERY:
                    progress(WorkProgress("reading what is held", number, max(number, total)))
                yield CdxLine(
                    urlkey=entry["urlkey"],
                    timestamp=entry["timestamp"],
                    url=entry["url"],
                    digest=entry.get("digest", ""),
                )


def main() -> None:
    """Run the command by its own name."""
    run(command, "dedup-cdx")


if __name__ == "__main__":
    main()
