"""Deliberate damage to archive files: records are removed, all other bytes stay the same."""

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator

from tests.rendering.made_site.addresses import page_of_resource

STYLE, SCRIPT, IMAGES = "style sheet", "script", "images"
KINDS = (STYLE, SCRIPT, IMAGES)
_KIND_OF_TYPE = {"text/css": STYLE, "text/javascript": SCRIPT}


class Damage(NamedTuple):
    """The loss of one page: its number, the kind of resource, and the URLs."""

    page: int
    kind: str
    urls: tuple[str, ...]


class PlacedRecord(NamedTuple):
    """A record and the position of its bytes."""

    offset: int
    length: int
    kind: str
    url: str
    status: str
    content_type: str


def placed_records(warc: Path) -> Iterator[PlacedRecord]:
    """Yield the records of a WARC in order; in a compressed one, each is a gzip member."""
    with warc.open("rb") as file:
        records = ArchiveIterator(file)
        for record in records:
            http = record.http_headers
            has_status = http is not None and record.rec_type in ("response", "revisit")
            head = (
                record.rec_type,
                record.rec_headers.get_header("WARC-Target-URI") or "",
                http.get_statuscode() if has_status else "",
                (http.get_header("Content-Type") or "").partition(";")[0] if has_status else "",
            )
            records.read_to_end()
            yield PlacedRecord(records.get_record_offset(), records.get_record_length(), *head)


def remove_records(source: Path, target: Path, urls: Collection[str]) -> int:
    """Copy a WARC without the records of these URLs; return the number of removed records.

    The other records keep their bytes and order. Revisits of a removed payload stay, and then lack
    an original.
    """
    content, removed = source.read_bytes(), 0
    with target.open("wb") as file:
        for record in placed_records(source):
            if record.url in urls:
                removed += 1
            else:
                file.write(content[record.offset : record.offset + record.length])
    return removed


def damage_folder(source: Path, target: Path, urls: Collection[str]) -> int:
    """Copy all WARC files of a folder without these URLs; return the number of removed records."""
    target.mkdir(parents=True, exist_ok=True)
    return sum(
        remove_records(warc, target / warc.name, urls) for warc in sorted(source.glob("*.warc.gz"))
    )


def choose_damages(
    warcs: Iterable[Path], pages: Sequence[int], places: int = 30, seed: int = 7
) -> list[Damage]:
    """Return what to remove from `places` pages: alternately a style sheet, a script, images.

    Only resources of a single page are removed, so that no other page is damaged.
    """
    own = _own_resources(warcs)
    chance = random.Random(seed)
    chosen = chance.sample(
        [page for page in pages if all(own[page][kind] for kind in KINDS)], places
    )
    return [
        Damage(page, kind, _taken(own[page][kind], kind, chance))
        for page, kind in zip(chosen, KINDS * places, strict=False)
    ]


def _taken(urls: list[str], kind: str, chance: random.Random) -> tuple[str, ...]:
    """Return one of the URLs, or a third of them if they are images."""
    count = -(-len(urls) // 3) if kind == IMAGES else 1
    return tuple(sorted(chance.sample(sorted(urls), count)))


def _own_resources(warcs: Iterable[Path]) -> dict[int, dict[str, list[str]]]:
    """Return the captured URLs that belong to a single page, by page and kind."""
    found: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for warc in warcs:
        for record in placed_records(warc):
            page = page_of_resource(record.url)
            if page is None or record.status != "200":
                continue
            if record.content_type.startswith("image/"):
                found[page][IMAGES].add(record.url)
            elif record.content_type in _KIND_OF_TYPE:
                found[page][_KIND_OF_TYPE[record.content_type]].add(record.url)
    return defaultdict(
        lambda: defaultdict(list),
        {
            page: defaultdict(list, {kind: sorted(urls) for kind, urls in kinds.items()})
            for page, kinds in found.items()
        },
    )
