"""The specification that a user names: one that the archive has, or a file."""

from pathlib import Path

from nwx.engine.base import Engine
from nwx.errors import SourceError, UsageError
from nwx.steering.specifications.files import read_specification, write_specification
from nwx.steering.specifications.specification import CrawlSpecification

_SUFFIXES = (".toml", ".json")
_MOST_BYTES = 64 << 20


def file_of_specification(name: str) -> CrawlSpecification | None:
    """Return the specification in the file of a name, None where the name is no file's.

    Raises SourceError where the file cannot be read, SpecificationError
    where there is something wrong with it.
    """
    path = Path(name)
    if not path.is_file() and path.suffix.lower() not in _SUFFIXES:
        return None
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SourceError(f"{name} is too large for a crawl specification")
        return read_specification(path.read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"the crawl specification {name} cannot be read: {error}") from error


def chosen_specification(engine: Engine, name: str) -> CrawlSpecification:
    """Return the specification in a file, which is saved in the archive, or the one of a name.

    Raises UsageError where there is neither, and what `file_of_specification` raises.
    """
    index = engine.crawl_index()
    found = file_of_specification(name)
    if found is not None:
        index.save_specification(found.name, found.version(), write_specification(found, "toml"))
        return found
    stored = index.specification(name)
    if stored is None:
        names = ", ".join(each.name for each in index.specifications()) or "none"
        raise UsageError(
            f"there is no file {name}, and no crawl of this name in the archive"
            f" (it has {names}); name a TOML or JSON file"
        )
    return read_specification(stored.text, f"{name}, number {stored.number}")
