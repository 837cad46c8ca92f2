"""Crawl specifications that an archive keeps: saved, read by name, restored."""

from pathlib import Path

from nwx.engine.crawls.crawl_index import CrawlIndex, StoredSpecification
from nwx.errors import ErrorText, SourceError, UsageError
from nwx.steering.specifications.files import (
    MOST_SPECIFICATION_CHARACTERS,
    read_specification,
)
from nwx.steering.specifications.problems import SpecificationError, SpecificationProblem
from nwx.steering.specifications.specification import CrawlSpecification

_SUFFIXES = (".toml", ".json")


class UnknownCrawlError(UsageError):
    """A crawl that an archive has no specification of, or not this version."""


def steering_specification(crawls: CrawlIndex, place: str) -> CrawlSpecification:
    """Return the specification in a file, which is saved first, or the saved one of a name.

    Raises SpecificationError on a file that is none, SourceError on one that
    cannot be read, and UnknownCrawlError where there is neither.
    """
    if not names_file(place):
        return specification_of(stored_specification(crawls, place))
    text = file_text(Path(place))
    specification = read_specification(text, place)
    crawls.save_specification(specification.name, specification.version(), text)
    return specification


def specification_at(crawls: CrawlIndex, place: str) -> CrawlSpecification:
    """Return what `steering_specification` does, and save nothing."""
    if names_file(place):
        return read_specification(file_text(Path(place)), place)
    return specification_of(stored_specification(crawls, place))


def names_file(place: str) -> bool:
    """Return whether a text that tells a specification names a file, and no crawl."""
    return Path(place).suffix.lower() in _SUFFIXES or Path(place).is_file()


def file_text(path: Path) -> str:
    """Return the text of a file; raises SourceError where it cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_SPECIFICATION_CHARACTERS + 1)
    except OSError as error:
        raise SourceError(
            ErrorText("%(path)s cannot be read (%(reason)s)", path=path, reason=error.strerror)
        ) from error
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1:,} is no UTF-8"
        raise SpecificationError(str(path), [SpecificationProblem("", reason)]) from error
    return text


def save_text(
    crawls: CrawlIndex, text: str, place: str, expected: int | None = None
) -> StoredSpecification:
    """Save a specification under its name, as `CrawlIndex.save_specification` does.

    `place` names the text in messages. Raises SpecificationError where it is no specification.
    """
    specification = read_specification(text, place)
    return crawls.save_specification(
        specification.name, specification.version(), text, expected=expected
    )


def stored_specification(crawls: CrawlIndex, name: str, version: str = "") -> StoredSpecification:
    """Return what was saved last of a crawl, or under a number or with a version.

    Raises UnknownCrawlError where there is none.
    """
    number = int(version) if version.isascii() and version.isdigit() and len(version) < 10 else None
    found = crawls.specification(name, number=number) if number is not None else None
    found = found or crawls.specification(name, version)
    if found is not None:
        return found
    known = [one.name for one in crawls.specifications()]
    if name in known:
        raise UnknownCrawlError(
            ErrorText(
                "the crawl %(name)s has no version %(version)s; `nwx crawls versions "
                "%(name)s` lists them",
                name=name,
                version=repr(version),
            )
        )
    names = f"known are {', '.join(known[:20])}" if known else "none has been added yet"
    raise UnknownCrawlError(
        ErrorText(
            "there is no crawl specification %(name)s (%(names)s); `nwx crawls add FILE` adds one",
            name=repr(name),
            names=names,
        )
    )


def specification_of(stored: StoredSpecification) -> CrawlSpecification:
    """Return a saved specification, read."""
    return read_specification(stored.text, f"{stored.name} (saved as number {stored.number})")


def restore(crawls: CrawlIndex, name: str, version: str) -> StoredSpecification:
    """Save an earlier specification again, behind all others."""
    earlier = stored_specification(crawls, name, version)
    return crawls.save_specification(name, earlier.version, earlier.text)
