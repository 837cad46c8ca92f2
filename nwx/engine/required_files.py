"""The files that files of an archive require: by name, as crawlers name them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from nwx.model import SourceFile

if TYPE_CHECKING:
    from nwx.warc.wacz import RequiredFile

_MEMBER = ".wacz#"


def stored_name(name: str) -> str:
    """Return the name of the WACZ that a WARC of this ledger name is in, else the name."""
    head, found, _ = name.partition(_MEMBER)
    return f"{head}.wacz" if found else name


def unmet_requirements(
    files: Iterable[SourceFile],
) -> Mapping[tuple[str, str], tuple["RequiredFile", ...]]:
    """Return the required files that are not among the files, by collection and name of file."""
    known = list(files)
    held = {stored_name(file.name) for file in known}
    lacking = {
        (file.collection, file.name): tuple(
            one for one in file.requires if str(one["filename"]).rpartition("/")[2] not in held
        )
        for file in known
        if file.requires
    }
    return {key: unmet for key, unmet in lacking.items() if unmet}
