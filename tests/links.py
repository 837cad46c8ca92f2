"""Documents with links, and their counts by brute force in plain Python."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nwx.keys import document_key
from nwx.links.parts import clean_anchor
from nwx.model import (
    ANCHORS_KEPT,
    Anchor,
    Batch,
    Dates,
    Document,
    Inlink,
    Link,
    LinkCell,
    LinkCounts,
)
from nwx.values.urlkeys import urlkey
from nwx.values.urls import domain_of_host, host_of_urlkey
from tests.conformance.archive import capture, document

HOSTS = ("a.example.org", "www.example.org", "example.org", "b.test", "c.co.uk", "x.c.co.uk")
TEXTS = ("", "home", "the annual report", "  more\n here ", "\u202eevil", "größe", "日本", "home ")
KINDS = ("a", "img", "script", "form", "strange")


def page(
    url: str,
    links: Iterable[Link | tuple[str, str] | str],
    seen: Sequence[tuple[str, str]] = (("2010", "web"),),
    body: str = "",
) -> Batch:
    """Return a batch with a page, its links and all its dates (timestamp and collection)."""
    held = capture(url, seen[0][0], body=body or url, collection=seen[0][1])
    made = tuple(
        one if isinstance(one, Link) else Link(one) if isinstance(one, str) else Link(*one)
        for one in links
    )
    key = document_key(held.url, held.digest)
    times = tuple(capture(url, time, collection=name).timestamp for time, name in seen)
    dates = Dates(key, tuple((time, name) for time, (_, name) in zip(times, seen, strict=True)))
    return Batch((document(held, links=made),), (held,), (dates,))


def random_batches(seed: int, pages: int = 40) -> list[Batch]:
    """Return pages that link to each other, to themselves, and to URLs without captures."""
    chance = random.Random(seed)
    urls = [f"http://{host}/{n}" for host in HOSTS for n in range(4)]
    urls += ["http://www.example.org:8080/", "https://a.example.org/1", "ftp://b.test/file"]
    made = []
    for number in range(pages):
        links = [
            Link(chance.choice(urls), chance.choice(TEXTS), chance.choice(KINDS))
            for _ in range(chance.randrange(9))
        ]
        seen = sorted(
            {
                (f"{chance.randrange(2008, 2012)}{chance.randrange(1, 13):02}", chance.choice("pq"))
                for _ in range(chance.randrange(1, 4))
            }
        )
        made.append(page(chance.choice(urls), links, seen, body=str(number)))
    return made


@dataclass
class _Cell:
    pages: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    times: set[str] = field(default_factory=set)
    kinds: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    anchors: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    own: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    listed: dict[tuple[str, str, str], tuple[str, str, str]] = field(default_factory=dict)


def _cells(dates: Dates) -> Iterator[tuple[LinkCell, str]]:
    for timestamp, collection in dates.seen:
        year = int(timestamp[:4])
        for cell in (LinkCell(), LinkCell(year), LinkCell(None, collection)):
            yield cell, timestamp
        yield LinkCell(year, collection), timestamp


def brute_force(
    documents: Iterable[tuple[Document, Dates]],
) -> dict[tuple[str, LinkCell], tuple[LinkCounts, list[Inlink]]]:
    """Return counts and inlinks by linked urlkey and cell."""
    cells: dict[tuple[str, LinkCell], _Cell] = defaultdict(_Cell)
    for one, dates in documents:
        source = one.capture.urlkey
        for link in one.extract.links:
            target, text = urlkey(link.url), clean_anchor(link.text)
            kind = link.kind if link.kind in ("a", "img", "script", "form") else "other"
            for key, timestamp in _cells(dates):
                cell = cells[target, key]
                place = (source, kind, text)
                row = (timestamp, dates.key, one.capture.url)
                cell.listed[place] = min(cell.listed.get(place, row), row)
                if source == target:
                    continue
                cell.pages["all"].add(source)
                cell.times.add(timestamp)
                cell.kinds[kind].add(source)
                if text:
                    own = host_of_urlkey(source) == host_of_urlkey(target)
                    (cell.own if own else cell.anchors)[text].add(source)
    return {key: (_counts(cell), _listed(cell)) for key, cell in cells.items()}


def _counts(cell: _Cell) -> LinkCounts:
    pages = cell.pages["all"]
    if not pages:
        return LinkCounts()
    hosts = {host_of_urlkey(one) for one in pages}
    kinds = sorted(cell.kinds.items(), key=lambda one: (-len(one[1]), one[0]))
    return LinkCounts(
        len(pages),
        len(hosts),
        len({domain_of_host(one) for one in hosts}),
        min(cell.times),
        max(cell.times),
        {kind: len(found) for kind, found in kinds},
        _anchors(cell.anchors),
        _anchors(cell.own),
    )


def _anchors(found: dict[str, set[str]]) -> tuple[Anchor, ...]:
    made = [
        Anchor(text, len(pages), len({host_of_urlkey(one) for one in pages}))
        for text, pages in found.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.documents, one.text))[:ANCHORS_KEPT])


def _listed(cell: _Cell) -> list[Inlink]:
    return [
        Inlink("", source, timestamp, kind, text)
        for (source, kind, text), (timestamp, _, _) in sorted(cell.listed.items())
    ]
