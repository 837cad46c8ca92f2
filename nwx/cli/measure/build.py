"""nwx build, nwx build-pictures"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import click

from nwx.cli import option
from nwx.cli.options import EMBEDDER, with_embedder
from nwx.cli.output import counted, is_unrestricted, opened_archive, print_json, progress_bar, warn
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx import Archive
    from nwx.pictures.build import PictureBuildReport

_PROBLEMS_SHOWN = 20
_NAMES = ("facets", "links", "pictures", "triples", "vectors", "all")

_ANEW = option.flag("--anew", "Rebuild everything, not only what changed.")
_WORKERS = option.count("--workers", "N", "Number of processes (default: CPUs).")


@click.command("build")
@click.argument("names", nargs=-1, type=option.HintedChoice(_NAMES), metavar="[NAME]...")
@_ANEW
@_WORKERS
@EMBEDDER
@option.JSON_REPORT
@click.pass_obj
def build_command(
    settings: Settings,
    names: tuple[str, ...],
    anew: bool,
    workers: int | None,
    embedder: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build or update facets, links, pictures, triples and vectors.

    NAME is facets, links, pictures, triples or vectors; all is the first four. Without
    NAME, those of facets, links and pictures that are missing or out of date are built;
    vectors if they were built before. Queries are answered from the previous build until
    the new one is complete. If interrupted, run the same command again to resume.
    build-facets, invert-links, build-pictures and `triples build` have more options.
    """
    with opened_archive(with_embedder(settings, embedder)) as archive:
        asked = _NAMES[:-2] if "all" in names else tuple(dict.fromkeys(names))
        wanted = asked or archive.stale(anew=anew)
        options = {"anew": anew, "workers": workers}
        built = build(archive, wanted, options, quiet=quiet or as_json, shown=not as_json)
    if as_json:
        print_json(built)
    elif not (built or quiet):
        click.echo("everything is up to date; --anew rebuilds it")


def build(
    archive: "Archive",
    names: tuple[str, ...],
    options: dict[str, Any],
    *,
    quiet: bool,
    shown: bool = True,
) -> dict[str, dict[str, Any]]:
    """Build indices, print their reports if `shown`, and return them as JSON values by name."""
    done = {}
    for name in names:
        with progress_bar(quiet=quiet) as show:
            if name == "triples":
                report: Any = archive.build_triples(progress=show)
            else:
                report = archive.build(name, progress=show, **options)[name]
        words, done[name] = _report_forms(name, report)
        if shown and not quiet:
            click.echo(f"{name}: {words}")
        if shown and name == "pictures":
            _warn_of_problems(report)
    return done


def _report_forms(name: str, report: Any) -> tuple[str, dict[str, Any]]:
    """Return a report as text, and as JSON values."""
    if name == "facets":
        from nwx.cli.measure import facets

        return facets.facets_words(report), facets.facets_json(report)
    if name == "links":
        from nwx.cli.measure import links

        return links.links_words(report), links.links_json(report)
    if name == "pictures":
        return _picture_words(report), _pictures_json(report)
    if name == "vectors":
        words = (
            f"{counted(report.documents, 'new document')}, {counted(report.passages, 'passage')}"
        )
        return f"{words}, in {report.seconds:.1f} s", asdict(report)
    from nwx.cli.crawl import triples

    return triples.triples_words(report), asdict(report)


@click.command("build-pictures")
@_ANEW
@_WORKERS
@option.JSON_REPORT
@click.pass_obj
def build_pictures_command(
    settings: Settings, anew: bool, workers: int | None, as_json: bool, quiet: bool
) -> None:
    """Build the index of pictures: images, and the text of pages about them.

    Of images, the size, the main colours, and a perceptual hash that finds similar ones are
    stored. Pages are read again for text about images: alternative texts, titles, links and
    the surrounding text. Only captures stored since the last run are read; if interrupted,
    run the same command again to resume.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as show:
        built = archive.build("pictures", anew=anew, workers=workers, progress=show)
    report = cast("PictureBuildReport", built["pictures"])
    if as_json:
        print_json(_pictures_json(report))
        return
    _warn_of_problems(report)
    if not quiet:
        click.echo(_picture_words(report))


def _shown_problems(report: "PictureBuildReport") -> tuple[str, ...]:
    return tuple(report.problems) if is_unrestricted() else ()


def _warn_of_problems(report: "PictureBuildReport") -> None:
    for problem in _shown_problems(report)[:_PROBLEMS_SHOWN]:
        warn(problem)


def _pictures_json(report: "PictureBuildReport") -> dict[str, Any]:
    more = {"problems": _shown_problems(report), "seconds": round(report.seconds, 3)}
    return asdict(report) | more


def _picture_words(report: "PictureBuildReport") -> str:
    unreadable = f", {report.unreadable:,} unreadable" if report.unreadable else ""
    return (
        f"{counted(report.captures, 'capture')}: {counted(report.pictures, 'new picture')},"
        f" {counted(report.appearances, 'appearance')} on {counted(report.pages, 'page')}"
        f"{unreadable}, in {report.seconds:.1f} s"
    )
