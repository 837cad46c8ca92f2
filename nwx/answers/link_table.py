"""The links to a URL or host: counts, anchor texts and the links themselves."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from nwx.answers.options import first_of
from nwx.answers.tables import Rows
from nwx.engine.base import Engine
from nwx.links.archive_links import ArchiveLinks, asked_place
from nwx.model import Anchor, LinkCell, LinkCounts


class LinkTo(NamedTuple):
    """A link: linking page, that page's first capture with it, kind, anchor text and target."""

    url: str
    timestamp: str
    kind: str
    text: str
    target: str


class Inlinks(Rows[LinkTo]):
    """The links to a URL, or to all URLs of a host from other hosts, with their counts."""

    def __init__(self, engine: Engine, to: str, cell: LinkCell, limit: int | None = None) -> None:
        super().__init__(LinkTo, lambda: first_of(self._links(), limit), bars="timestamp")
        self._place = asked_place(to)
        self._cell = cell
        self._archive = ArchiveLinks(engine)

    @property
    def is_current(self) -> bool:
        """Whether the archive is unchanged since links were inverted."""
        return self._archive.is_current()

    @cached_property
    def counts(self) -> LinkCounts:
        """The counts of all links, regardless of the limit."""
        if self._place.is_host:
            return self._archive.of_host(self._place.host).counts(self._cell)
        return self._archive.counts(self._place.urlkey, self._cell) or LinkCounts()

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The most frequent anchor texts."""
        if self._place.is_host:
            return self.counts.anchors
        return self._archive.anchors(self._place.urlkey, self._cell)

    def _links(self) -> Iterator[LinkTo]:
        if self._place.is_host:
            for target, one in self._archive.of_host(self._place.host).inlinks(self._cell):
                yield LinkTo(one.url, one.timestamp, one.kind, one.text, target)
            return
        target = self._place.urlkey
        for one in self._archive.inlinks(target, self._cell):
            yield LinkTo(one.url, one.timestamp, one.kind, one.text, target)
