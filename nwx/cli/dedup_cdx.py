"""dedup-cdx, also nwx dedup-cdx"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from nwx.bulk.progress import StepProgress
from nwx.cdx.lines import CdxLine
from nwx.cdx.raw_blocks import CdxSource
from nwx.cli.list_commands import (
    SIZE,
    exit_code,
    list_options,
    list_output,
    print_report,
    resources_of,
    sources_of,
    step_bar,
)
from nwx.cli.main import run
from nwx.dedup.capture_filter import CaptureFilter, Keep, Revisits
from nwx.dedup.duplicates import find_duplicates
from nwx.dedup.key_hashes import Key
from nwx.engine.open import is_server, open_engine
from nwx.model import IndexName
from nwx.settings import Settings, load_settings

_SHOWN_EVERY = 1_000


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
    help="Which one of them is not listed; `original`: the oldest that is no revisit.",
)
@click.option(
    "--revisits",
    type=click.Choice([Revisits.IN.value, Revisits.OUT.value]),
    default=Revisits.IN.value,
    show_default=True,
    help="Whether revisit records are looked at.",
)
@click.option(
    "--min-size", type=SIZE, default=0, help="Look only at records of this length and longer."
)
@click.option("--mime", multiple=True, metavar="TYPE", help="Look only at these types (`image/*`).")
@click.option("--not-mime", multiple=True, metavar="TYPE", help="Do not look at these types.")
@click.option(
    "--against",
    multiple=True,
    metavar="PLACE",
    help="List also what is held already: by a CDX file, a list, or an archive"
    " (a folder, or the http(s) address of an Elasticsearch).",
)
@list_options
@click.pass_obj
def command(
    settings: Settings | None,
    files: tuple[str, ...],
    key: str,
    keep: str,
    revisits: str,
    min_size: int,
    mime: tuple[str, ...],
    not_mime: tuple[str, ...],
    against: tuple[str, ...],
    output: Path | None,
    fields: str | None,
    summary: bool,
    as_json: bool,
    strict: bool,
    memory: int,
    tmp: Path | None,
    jobs: int | None,
    quiet: bool,
) -> int:
    """List the duplicates in CDX files.

    Duplicates are the second and later captures of a URL and digest.

    FILES are CDX files of 7, 9, 10, 11 or 14 fields or with a header, or
    CDXJ; plain, gzip or zstd; sorted or not; - is standard input. The list
    has a line `date digest url` for each duplicate, in the order and with
    the values of the input. It is what `nwx import -e` leaves out and what
    `add-dates` adds.

    All captures of one URL and digest are compared, in whatever file they
    are. Lines that cannot be read are reported and passed over; lines
    without a digest are no duplicates of anything.
    """
    sources = sources_of(files, fields)
    archives = [place for place in against if is_server(place) or Path(place).is_dir()]
    sources += [CdxSource(place, held=True) for place in against if place not in archives]
    selection = CaptureFilter(
        key=Key(key),
        keep=Keep(keep),
        min_bytes=min_size,
        mime_in=tuple(pattern.lower() for pattern in mime),
        mime_out=tuple(pattern.lower() for pattern in not_mime),
        revisits=Revisits(revisits),
    )
    with list_output(output) as stream, step_bar(quiet=quiet) as progress:
        report = find_duplicates(
            sources,
            stream,
            selection,
            resources=resources_of(memory, tmp, jobs),
            held=_held(settings or load_settings({}), archives, progress) if archives else None,
            strict=strict,
            summary=summary or as_json,
            progress=progress,
        )
    print_report(
        report,
        "duplicates",
        summary=summary,
        as_json=as_json,
        listed=output is None,
        quiet=quiet,
    )
    return exit_code(report)


def _held(settings: Settings, archives: list[str], progress: StepProgress) -> Iterator[CdxLine]:
    for place in archives:
        with open_engine(replace(settings, engine=place), read_only=True) as engine:
            total = engine.count(IndexName.CAPTURES)
            for number, entry in enumerate(engine.scan(IndexName.CAPTURES)):
                if not number % _SHOWN_EVERY:
                    progress("reading what is held", number, max(number, total))
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
