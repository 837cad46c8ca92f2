"""What a package requires of other files, as `relation.requires` of a WACZ names it."""

import hashlib
from collections.abc import Iterator
from typing import Any

from nwx.engine.base import Engine
from nwx.engine.required_files import stored_name, unmet_requirements
from nwx.errors import SourceError
from nwx.exports.page_needs import original_of
from nwx.exports.wacz_selection import Catalogue
from nwx.model import Capture, SourceFile
from nwx.warc.sources import open_path

_STEP = 1 << 20


def required_files(engine: Engine, catalogue: Catalogue) -> Iterator[dict[str, Any]]:
    """Yield the files with the payloads of packed revisits that are not packed themselves.

    Of a revisit whose payload the archive lacks too, what its own file required.
    """
    files = {(file.collection, file.name): file for file in engine.files()}
    unmet = unmet_requirements(files.values())
    seen: set[str] = set()
    for revisit in catalogue.lone_revisits():
        for one in _of_revisit(engine, revisit, files, unmet):
            if one["filename"] not in seen:
                seen.add(one["filename"])
                yield one if "path" not in one else _described(one)


def _of_revisit(
    engine: Engine, revisit: Capture, files: Any, unmet: Any
) -> Iterator[dict[str, Any]]:
    original = next(original_of(engine, revisit), None) if revisit.digest else None
    if original is None:
        yield from unmet.get((revisit.collection, revisit.source_file), ())
        return
    file: SourceFile | None = files.get((original.collection, original.source_file))
    name = stored_name(original.source_file)
    yield {"filename": name, "crawlId": original.collection, "path": file.path if file else ""}


def _described(one: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with the hash and size of the file, where that can be read."""
    digest, size = hashlib.sha256(), 0
    path = one.pop("path")
    try:
        with open_path(path) as stream:
            while block := stream.read(_STEP):
                digest.update(block)
                size += len(block)
    except (OSError, SourceError):
        return one
    return one | {"hash": f"sha256:{digest.hexdigest()}", "size": size}
