"""nwx enrich"""

from dataclasses import asdict

import click

from nwx.cli import option
from nwx.cli.output import counted, error_line, opened_archive, print_json, progress_bar, warn
from nwx.settings import Settings


@click.command("enrich")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option.FILE_JOBS
@option.JSON_REPORT
@click.pass_obj
def command(
    settings: Settings, names: tuple[str, ...], jobs: int | None, as_json: bool, quiet: bool
) -> int:
    """Make fields of the payloads of an archive, to search and count by.

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

    Reads the imported files once; a stopped run is resumed where it stopped. Later
    imports make the same fields (`nwx import --enrich none` ends that). The exit code
    is 1 if a file cannot be read.
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
