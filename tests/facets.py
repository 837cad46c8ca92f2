"""Random captures, and their features counted in plain Python."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nwx.engine.facet_store import BlobFolder
from nwx.facets.stored_build import Build, current_build
from nwx.model import Batch, Capture
from tests.conformance.archive import capture

STATUSES = (200, 200, 200, 206, 301, 404, 500, 0, 999, 150, None)
TYPES = ("text/html", "image/png", "image/gif", "application/pdf", "", "nonsense", "video/x-flv")
HOSTS = (
    "www.example.org",
    "example.co.uk",
    "a.example.fr",
    "b.example.fr",
    "192.168.0.1",
    "[::1]",
    "localhost",
    "no..host",
)
HOPS = ("", "", "L", "LL", "LLE", "R", "3+LL", "E" * 40, "L" * 200)
SIZES = (0, 1, 1228, 1229, 15_360, 153_600, 10 * 2**30, 2**62, None)
SIZE_NAMES = ("0", "0-1.2K", "1.2K-15K", "15K-150K", "150K-1.4M", "1.4M-15M", "15M-120M")
SIZE_ENDS = (1, 1228.8, 15_360, 153_600, 1_468_006.4, 15_728_640, 125_829_120)


def by_chance(seed: int, number: int, *, months: int = 5) -> list[Capture]:
    """Return random captures of all kinds, including unusual ones."""
    chance = random.Random(seed)
    found = []
    for place in range(number):
        url = f"http://{chance.choice(HOSTS)}/{chance.randrange(max(number // 6, 2))}"
        month = chance.randrange(months)
        found.append(
            _capture(chance, url, f"2013{month + 1:02}{chance.randrange(1, 29):02}", place)
        )
    return found


def _capture(chance: random.Random, url: str, day: str, place: int) -> Capture:
    payload = chance.randrange(30)
    revisit = chance.random() < 0.3
    length = chance.choice(SIZES) if chance.random() < 0.2 else payload * 1000
    made = capture(
        url,
        f"{day}120000",
        digest="" if chance.random() < 0.1 else f"sha1:{payload:032}",
        collection=chance.choice(("web", "other, things")),
        offset=place,
        record_type="revisit" if revisit else "response",
        status=chance.choice(STATUSES),
        content_type="" if revisit and chance.random() < 0.5 else chance.choice(TYPES),
        length=None if revisit and chance.random() < 0.5 else length,
    )
    return replace(made, hops=chance.choice(HOPS))


def batch(captures: Iterable[Capture]) -> Batch:
    """Return a batch that writes the captures."""
    return Batch(captures=tuple(captures))


def stored_build(folder: Path) -> Build:
    """Return the current build of a folder."""
    found = current_build(BlobFolder(folder))
    assert found is not None
    return found


def stored_entries(folder: Path) -> dict[str, dict[str, object]]:
    """Return the entries of the current build of a folder by their ids."""
    found = stored_build(folder).stored.entries
    assert found is not None
    return {entry["id"]: entry for entry in found.read(folder)}


@dataclass(frozen=True, slots=True)
class Counted:
    """A capture's values of the criteria, and the data that its features are counted from."""

    values: dict[str, str]
    size: int
    document: object
    url: str


def counted(captures: Sequence[Capture]) -> list[Counted]:
    """Return captures with their criteria; a revisit has those of the payload it refers to."""
    originals = [one for one in captures if one.record_type != "revisit" and one.digest]
    return [_counted(one, number, originals) for number, one in enumerate(captures)]


def _counted(one: Capture, number: int, originals: Sequence[Capture]) -> Counted:
    kind, size = _type(one), _size(one)
    if one.record_type == "revisit" and one.digest:
        same = [other for other in originals if other.digest == one.digest]
        for group in (same, [other for other in same if other.url == one.url]):
            found = sorted(group, key=_rank)[:1]
            for other in found:
                kind = _type(other) if _type(other) != "unknown" else kind
                size = _size(other) if _size(other) is not None else size
    values = {
        "status": _status(one.status_code),
        "month": f"{one.timestamp[:4]}-{one.timestamp[4:6]}",
        "year": one.timestamp[:4],
        "site": one.domain or "unknown",
        "type": kind,
        "tld": one.public_suffix.split(".")[-1] or "unknown",
        "size": _size_name(size),
        "depth": _depth(one.hops),
        "collection": one.collection,
    }
    return Counted(values, size or 0, one.digest or number, one.url)


def _rank(one: Capture) -> tuple[bool, int, bool, str]:
    size = _size(one)
    return size is None, -(size or 0), _type(one) == "unknown", _type(one)


def _type(one: Capture) -> str:
    return one.content_type_norm or "unknown"


def _size(one: Capture) -> int | None:
    size = one.content_length
    return size if size is not None and size <= 2**40 else None


def _status(status: int | None) -> str:
    names = {2: "ok", 3: "redirection", 4: "request_error", 5: "server_error"}
    return names.get((status or 0) // 100, "ignored")


def _size_name(size: int | None) -> str:
    if size is None:
        return "unknown"
    for name, end in zip(SIZE_NAMES, SIZE_ENDS, strict=True):
        if size < end:
            return name
    return "120M+"


def _depth(hops: str) -> str:
    if not hops:
        return "unknown"
    before, _, letters = hops.rpartition("+")
    depth = int(before or 0) + letters.count("L")
    return str(depth) if depth < 50 else "50+"


def features(some: Iterable[Counted]) -> dict[str, int]:
    """Return the features of captures."""
    some = list(some)
    sizes: dict[object, int] = {}
    for one in some:
        sizes[one.document] = max(one.size, sizes.get(one.document, 0))
    return {
        "captures": len(some),
        "unique_documents": len(sizes),
        "unique_urls": len({one.url for one in some}),
        "bytes": sum(one.size for one in some),
        "unique_bytes": sum(sizes.values()),
    }


def groups(some: Iterable[Counted], by: Sequence[str]) -> dict[tuple[str, ...], list[Counted]]:
    """Group captures by their values of some criteria."""
    found: dict[tuple[str, ...], list[Counted]] = {}
    for one in some:
        found.setdefault(tuple(one.values[name] for name in by), []).append(one)
    return found
