"""nwx crawls and nwx compare"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    clean,
    clean_lines,
    counted,
    date_words,
    opened_archive,
    print_json,
    progress_bar,
    warn,
)
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.specifications.specification_store import ScoredLink, StoredSpecification


_NUMBERS = ("number", "documents", "linked URLs")
_VERSION = option.string(
    "--version",
    "VERSION",
    "A number or version listed by `nwx crawls versions`.  [default: the latest]",
)


@click.group("crawls")
def crawls_command() -> None:
    """Manage crawl specifications, and show the links they score highest.

    A crawl specification is a TOML or JSON file that describes a crawl: seeds, keywords,
    entities, link rules, limits, weights. An archive stores each one that was added, with
    all its versions.
    """


@crawls_command.command("list")
@option.JSON
@click.pass_obj
def list_crawls(settings: Settings, as_json: bool) -> None:
    """List the crawl specifications of the archive."""
    with opened_archive(settings) as archive:
        found = archive.crawls()
    if as_json:
        print_json(
            [
                {name: getattr(stored, name) for name in ("name", "number", "version", "saved")}
                | {"analysed": [asdict(one) for one in analysed]}
                for stored, analysed in found
            ]
        )
    elif found:
        rows = []
        for stored, analysed in found:
            now = next((one for one in analysed if one.version == stored.version), None)
            documents, urls = (now.documents, now.urls) if now else (0, 0)
            cells = (stored.name, f"{stored.number}", stored.version, date_words(stored.saved))
            rows.append((*cells, f"{documents:,}", f"{urls:,}"))
        _print(("name", "number", "version", "saved", "documents", "linked URLs"), rows)
    else:
        click.echo("no crawl specifications; `nwx crawls add FILE` adds one")


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from nwx.cli.terminal import print_table  # help needs no rich

    print_table(headings, rows, _NUMBERS)


@crawls_command.command()
@click.argument("file")
@option.JSON
@click.pass_obj
def add(settings: Settings, file: str, as_json: bool) -> None:
    """Add the crawl specification in FILE (- is standard input), or a new version of it.

    It is stored under the name given in it. If the file has errors, all are listed, and
    nothing is added.
    """
    text, place = _read(file)
    with opened_archive(settings) as archive:
        saved = archive.save_crawl(text, place, files=True)
    if as_json:
        print_json(_saved_json(saved))
    else:
        click.echo(_saved_words(saved))


def _read(file: str) -> tuple[str, str]:
    """Return the text of a file, and its name for messages."""
    from nwx.steering.specifications.specification_store import file_text

    if file == STANDARD_INPUT:
        return file_text(Path("/dev/stdin")), "standard input"
    return file_text(Path(file)), file


def _saved_json(saved: "StoredSpecification") -> dict[str, Any]:
    return {key: value for key, value in asdict(saved).items() if key != "text"}


def _saved_words(saved: "StoredSpecification") -> str:
    return f"{saved.name}: number {saved.number}, version {saved.version}"


@crawls_command.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@option.JSON
def check_files(files: Sequence[str], as_json: bool) -> int:
    """Check crawl specifications without adding them.

    The exit code is 1 if any has errors.
    """
    from nwx.errors import SpecificationError
    from nwx.steering.specifications.specification_files import read_specification

    wrong, found = False, []
    for file in files:
        text, place = _read(file)
        try:
            specification = read_specification(text, place)
        except SpecificationError as error:
            wrong = True
            found += [
                {"file": place, "place": one.place, "reason": one.reason, "line": one.line}
                for one in error.problems
            ]
            if not as_json:
                click.echo(clean_lines(str(error)))
        else:
            if not as_json:
                click.echo(f"{clean(place)}: {_summary(specification)}")
    if as_json:
        print_json({"valid": not wrong, "problems": found})
    return 1 if wrong else 0


def _summary(specification: Any) -> str:
    counts = (
        counted(len(getattr(specification, f"{noun}s")), noun)
        for noun in ("seed", "keyword", "rule")
    )
    entities = len(specification.entities)
    return (
        f"{specification.name}, version {specification.version()}: {', '.join(counts)}, "
        f"{entities:,} {'entity' if entities == 1 else 'entities'}"
    )


@crawls_command.command("show")
@click.argument("name")
@_VERSION
@option.choice_of(
    "--format",
    ["toml", "json"],
    "Print it in this format, without comments.  [default: the text as it was added]",
    into="form",
)
@click.pass_obj
def show_specification(settings: Settings, name: str, version: str, form: Any) -> None:
    """Print a crawl specification."""
    from nwx.steering.specifications.specification_files import write_specification
    from nwx.steering.specifications.specification_store import specification_of

    with opened_archive(settings) as archive:
        stored = archive.crawl_specification(name, version)
    text = write_specification(specification_of(stored), form) if form else stored.text
    click.echo(clean_lines(text), nl=not text.endswith("\n"))


@crawls_command.command("versions")
@click.argument("name")
@option.JSON
@click.pass_obj
def list_versions(settings: Settings, name: str, as_json: bool) -> None:
    """List the versions of a crawl specification, the latest first."""
    with opened_archive(settings) as archive:
        found = archive.crawl_versions(name)
    if as_json:
        print_json([_saved_json(one) | {"documents": documents} for one, documents in found])
        return
    rows = [
        (f"{one.number}", one.version, date_words(one.saved), f"{documents:,}")
        for one, documents in found
    ]
    _print(("number", "version", "saved", "documents"), rows)


@crawls_command.command("restore")
@click.argument("name")
@click.argument("version")
@click.pass_obj
def restore_crawl(settings: Settings, name: str, version: str) -> None:
    """Make an earlier VERSION of a crawl specification the latest one again."""
    with opened_archive(settings) as archive:
        click.echo(_saved_words(archive.restore_crawl(name, version)))


@crawls_command.command()
@click.argument("name")
@click.pass_obj
def remove(settings: Settings, name: str) -> None:
    """Remove a crawl specification with all its versions and scores."""
    with opened_archive(settings) as archive:
        archive.remove_crawl(name)


@crawls_command.command()
@click.argument("name")
@option.string("--host", "HOST", "List only the URLs of HOST.")
@option.count("--limit", None, "Number of URLs.", default=20)
@option.value(
    "--offset", click.IntRange(0), None, "Skip the first N URLs.", default=0, show_default=False
)
@option.string("--version", "HASH", "Scores of this version.  [default: the latest]")
@option.JSON
@click.pass_obj
def links(settings: Settings, /, as_json: bool, **asked: Any) -> None:
    """List the linked URLs that a crawl scores highest, blacklisted ones at the end.

    Each is shown with the components of its relevance, and the page that links to it.
    """
    with opened_archive(settings) as archive:
        found, reason = archive.crawl_links(**asked)
    if reason:
        warn(reason)
    if as_json:
        print_json([link._asdict() for link in found])
        return
    for link in found:
        _print_link(link)


def _print_link(link: "ScoredLink") -> None:
    relevance = "blacklisted" if link.relevance is None else f"{link.relevance:.3f}"
    click.echo(f"{relevance:11} {clean(link.url)}")
    parts = ", ".join(f"{name} {value:.2f}" for name, value in link.parts.items() if value)
    why = "; ".join(filter(None, (link.role, parts, link.reason, f"on {link.via}")))
    click.echo(f"{'':11} {clean(why)}")


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", required=False, default="")
@option.string(
    "--spec",
    "SPEC",
    "Score relevance by this specification: a TOML or JSON file, or a name in the archive.",
    into="specification",
)
@option.JSON
@option.NO_PROGRESS
@click.pass_obj
def compare_command(
    settings: Settings, a: str, b: str, specification: str, as_json: bool, quiet: bool
) -> None:
    """Compare two collections, or a collection with a crawl specification.

    A is a collection, B another one, or a specification: the name of one in the archive, or
    a TOML or JSON file. Captures, errors, duplicates and freshness are counted for each
    collection, and the URLs, hosts and documents in both. Where playback was checked (`nwx
    check-playback`): scores, faults, missing resources, and pages that play worse or better
    in B than in A. With a specification: the relevance of documents, and the harvest rate
    over time; documents not yet analysed (`nwx steer`) are analysed for this report, which
    takes a while and is not stored.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        found = archive.compare(a, b, specification, progress)
    if as_json:
        from nwx.steering.comparison.comparison_json import comparison_json

        print_json(comparison_json(found))
        return
    from nwx.cli.crawl.tables import print_comparison  # help needs no rich

    print_comparison(found)
