"""nwx pictures"""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, print_json
from nwx.cli.restricted import open_for_reading
from nwx.errors import SourceError, UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.indices.picture_index import Picture, PictureIndex, PictureQuestion


_SIZES = ("icon", "small", "medium", "large")
_COLOURS = (
    *("black", "white", "grey", "red", "orange", "brown"),
    *("yellow", "green", "turquoise", "blue", "purple", "pink"),
)
_MOST = 1_000
_MOST_BYTES = 64 << 20


@click.command("pictures")
@click.argument("query", default="")
@option.choice_of(
    "--size", _SIZES, "By the longer side: below 64, below 300, below 1000 pixels, or longer."
)
@click.option(
    "--colour", "colours", type=click.Choice(_COLOURS), multiple=True, help="A main colour."
)
@option.repeated("--host", "HOST", "Images of this host.", into="hosts")
@option.repeated("--domain", "DOMAIN", "Of this domain.", into="domains")
@option.repeated("--collection", "NAME", "Captured in this collection.", into="collections")
@option.repeated("--year", "YEAR", "Captured in this year.", into="years")
@option.value(
    "--similar", option.FILE, "FILE", "Pictures that look like this image file, instead of a query."
)
@option.value("--limit", click.IntRange(1, _MOST), "N", "Pictures to list.", default=20)
@option.value(
    "--offset", click.IntRange(0), None, "Leave out the first ones.", default=0, show_default=False
)
@option.flag("--json", "Print pictures and words as JSON.", into="as_json")
@click.pass_obj
def command(
    settings: Settings,
    query: str,
    size: str | None,
    colours: tuple[str, ...],
    hosts: tuple[str, ...],
    domains: tuple[str, ...],
    collections: tuple[str, ...],
    years: tuple[str, ...],
    similar: Path | None,
    limit: int,
    offset: int,
    as_json: bool,
) -> None:
    """Find pictures by the words of the pages that show them.

    All words must match the file name, alternative text, title, links or the
    text around an image on one page. Run `nwx build-pictures` first.
    """
    from nwx.engine.indices.picture_index import ImageSize, PictureQuestion

    if bad := next((year for year in years if not re.fullmatch("[0-9]{4}", year)), ""):
        raise UsageError(f"--year is {bad!r}; write four digits, such as 2010")
    filters = (hosts, domains, collections, years)
    if similar is not None and (query or size or colours or any(filters) or offset):
        raise UsageError("--similar takes no query, filters or offset")
    with open_for_reading(settings) as engine:
        index = engine.picture_index()
        if similar is not None:
            _print_similar(index, similar, limit, as_json)
            return
        wanted = ImageSize(size) if size else None
        question = PictureQuestion(query, wanted, colours, *filters, limit=limit, offset=offset)
        _print_found(index, question, as_json)


def _print_found(index: "PictureIndex", question: "PictureQuestion", as_json: bool) -> None:
    from nwx.pictures.answers import pictures_answer

    result = index.search(question)
    if as_json:
        print_json(asdict(pictures_answer(result)))
        return
    if not index.is_made():
        click.echo("no pictures were built; run `nwx build-pictures`")
        return
    click.echo(counted(result.total.value, "picture"))
    for picture, appearance in result.pictures:
        words = appearance and next(
            filter(None, (appearance.alt, appearance.title, appearance.anchor)), ""
        )
        click.echo(_line(picture) + (f"  {clean(words)}" if words else ""))


def _print_similar(index: "PictureIndex", file: Path, limit: int, as_json: bool) -> None:
    from nwx.pictures.answers import similar_answer
    from nwx.pictures.measures import measured

    try:
        with file.open("rb") as opened:
            payload = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error}") from error
    if len(payload) > _MOST_BYTES:
        raise UsageError(f"{file} has more than {_MOST_BYTES:,} bytes")
    hash = measured(payload).hash
    if hash is None:
        raise UsageError(f"{file} is a plain area; nothing is like it")
    found = index.similar(hash, limit)
    if as_json:
        print_json(asdict(similar_answer(found)))
        return
    click.echo(counted(len(found), "similar picture"))
    for picture, distance in found:
        click.echo(f"{distance:>2}  {_line(picture)}")


def _line(picture: "Picture") -> str:
    size = f"{picture.width}×{picture.height}"
    return f"{size:>11}  {picture.timestamp}  {clean(picture.url)}"
