"""What the last pages of a host have in common, in a few bytes a host.

A set of hashes is a bitmap: a page whose bit is set already counts as known.
With four bits an entry, at most one page in eight does so wrongly.
"""

import zlib
from dataclasses import dataclass, field

_URLS = 256
_TEXTS = 64
_BITS_AN_ENTRY = 4
_KINDS = 4
_LONGEST_TITLE = 200


def content_hash(text: str) -> int:
    """Return a hash that is the same in every process."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class UrlWindow:
    """Pages of a host in a row: how many of their URLs, and of their contents, differ.

    `shares` are those of the last whole window: of URLs, and of contents,
    that were new in it; None before the first.
    """

    pages: int = 0
    urls: bytearray = field(default_factory=bytearray)
    contents: bytearray = field(default_factory=bytearray)
    shares: tuple[float, float] | None = None

    def add(self, url: str, content: str) -> None:
        """Count a page, by its URL and what tells its content from others."""
        if not self.urls:
            self.urls, self.contents = _bitmap(_URLS), _bitmap(_URLS)
        _set(self.urls, content_hash(url))
        _set(self.contents, content_hash(content))
        self.pages += 1
        if self.pages >= _URLS:
            self.shares = _count(self.urls) / self.pages, _count(self.contents) / self.pages
            self.pages, self.urls, self.contents = 0, bytearray(), bytearray()


@dataclass(slots=True)
class TextWindow:
    """The texts of the last pages of a host, older ones counting ever less.

    `counts` has the most frequent texts by their hash (the Misra-Gries
    algorithm), `titles` a title of each.
    """

    pages: int = 0
    urls: bytearray = field(default_factory=bytearray)
    counts: dict[int, int] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)

    def add(self, url: str, text: str, title: str) -> None:
        """Count the text of a page, unless the URL was counted just before."""
        if not self.urls:
            self.urls = _bitmap(_TEXTS)
        if not _set(self.urls, content_hash(url)):
            return
        if self.pages >= _TEXTS:
            self._halve()
        self.pages += 1
        key = content_hash(text)
        if key in self.counts or len(self.counts) < _KINDS:
            self.counts[key] = self.counts.get(key, 0) + 1
            self.titles[key] = title[:_LONGEST_TITLE]
        else:
            self._keep({known: count - 1 for known, count in self.counts.items()})

    def _halve(self) -> None:
        self.pages //= 2
        self.urls = _bitmap(_TEXTS)
        self._keep({key: count // 2 for key, count in self.counts.items()})

    def _keep(self, counts: dict[int, int]) -> None:
        self.counts = {key: count for key, count in counts.items() if count > 0}
        self.titles = {key: self.titles[key] for key in self.counts}

    @property
    def share(self) -> float:
        """The share of the pages that have the most frequent text."""
        return max(self.counts.values(), default=0) / self.pages if self.pages else 0.0

    @property
    def title(self) -> str:
        """The title of the most frequent text."""
        if not self.counts:
            return ""
        return self.titles[max(self.counts, key=lambda key: (self.counts[key], key))]


def _bitmap(entries: int) -> bytearray:
    return bytearray(entries * _BITS_AN_ENTRY // 8)


def _set(bitmap: bytearray, hash: int) -> bool:
    """Set the bit of a hash; return whether it was not set before."""
    place = hash % (len(bitmap) * 8)
    bit = 1 << (place & 7)
    if bitmap[place >> 3] & bit:
        return False
    bitmap[place >> 3] |= bit
    return True


def _count(bitmap: bytearray) -> int:
    return int.from_bytes(bitmap, "big").bit_count()
