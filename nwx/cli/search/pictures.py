"""nwx pictures"""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, opened_archive, print_json
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.pictures.answers import Picture


_SIZES = ("icon", "small", "medium", "large")
_COLOURS = (
    *("black", "white", "grey", "red", "orange", "brown"),
    *("yellow", "green", "turquoise", "blue", "purple", "pink"),
)
_MOST = 1_000


@click.command("pictures")
@click.argument("query", default="")
@option.choice_of(
    "--size", _SIZES, "By the longer side: below 64, below 300, below 1000 pixels, or longer."
)
@click.option(
    "--colour", "colours", type=option.HintedChoice(_COLOURS), multiple=True, help="A main colour."
)
@option.repeated("--host", "HOST", "Images of this host.", into="hosts")
@option.repeated("--domain", "DOMAIN", "Of this domain.", into="domains")
@option.repeated("--collection", "NAME", "Captured in this collection.", into="collections")
@option.repeated("--year", "YEAR", "Captured in this year.", into="years")
@option.string("--box", "W,S,E,N", "Taken within these degrees of longitude and latitude.")
@option.file_path("--similar", "Pictures that look like this image file, instead of a query.")
@option.value("--limit", click.IntRange(1, _MOST), "N", "Pictures to list.", default=20)
@option.value(
    "--offset", click.IntRange(0), None, "Leave out the first ones.", default=0, show_default=False
)
@option.flag("--json", "Print pictures and words as JSON.", into="as_json")
@click.pass_obj
def command(
    settings: Settings, /, similar: Path | None, limit: int, as_json: bool, **asked: Any
) -> None:
    """Find pictures by the words of the pages that show them.

    All words must match the file name, alternative text, title, links or the
    text around an image on one page. Run `nwx build-pictures` first.
    """
    if bad := next((year for year in asked["years"] if not re.fullmatch("[0-9]{4}", year)), ""):
        raise UsageError(f"--year is {bad!r}; write four digits, such as 2010")
    if similar is not None and any(asked.values()):
        raise UsageError("--similar takes no query, filters or offset")
    with opened_archive(settings) as archive:
        if similar is None:
            _print_found(archive, asked | {"limit": limit}, as_json=as_json)
            return
        from nwx.pictures.measures import hash_of_file  # loads Pillow

        found = archive.similar_pictures(hash_of_file(similar), limit)
    if as_json:
        from nwx.pictures.answers import similar_answer

        print_json(asdict(similar_answer(found)))
        return
    click.echo(counted(len(found), "similar picture"))
    for picture, distance in found:
        click.echo(f"{distance:>2}  {_line(picture)}")


def _print_found(archive: "Archive", asked: dict[str, Any], *, as_json: bool) -> None:
    from nwx.pictures.answers import ImageSize, PictureQuestion, parse_box, pictures_answer

    size = ImageSize(asked.pop("size")) if asked["size"] else None
    box = parse_box(asked.pop("box"))
    result = archive.search_pictures(PictureQuestion(**asked | {"size": size, "box": box}))
    if as_json:
        print_json(asdict(pictures_answer(result)))
        return
    if not archive.is_built("pictures"):
        click.echo("no pictures were built; run `nwx build-pictures`")
        return
    click.echo(counted(result.total.value, "picture"))
    for picture, shown in result.pictures:
        words = shown and next(filter(None, (shown.alt, shown.title, shown.anchor)), "")
        click.echo(_line(picture) + (f"  {clean(words)}" if words else ""))


def _line(picture: "Picture") -> str:
    size = f"{picture.width}×{picture.height}"
    return f"{size:>11}  {picture.timestamp}  {clean(picture.url)}"
