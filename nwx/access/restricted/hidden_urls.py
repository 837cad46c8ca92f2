"""URLs of which nothing may be shown, whether they were captured or not."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.spans import KeysAtTime
from nwx.errors import UrlError
from nwx.model import Link
from nwx.values.urlkeys import urlkey

_AT_ONCE = 200
_MOST_NEAR = 20
_ANY_TIME = "20000101000000"
_LONGEST_KEY = 8_000


class HiddenUrls:
    """Tells of URLs whether a viewer may know of them.

    A URL is hidden where all its captures are. One that was never captured
    is hidden where rules about URLs say so.
    """

    def __init__(self, engine: Engine, decisions: Decisions) -> None:
        self._engine = engine
        self._decisions = decisions

    def among(self, urls: Collection[str]) -> set[str]:
        """Return those of these URLs that are hidden; what is no URL is not."""
        if self._decisions.hides_nothing:
            return set()
        keys = {url: key for url in set(urls) if (key := key_of(url))}
        hidden = self.keys_among(set(keys.values()))
        return {url for url, key in keys.items() if key in hidden}

    def keys_among(self, keys: Iterable[str]) -> set[str]:
        """Return those of these urlkeys that are hidden."""
        touched = (key for key in keys if self._decisions.touches(key))
        hidden: set[str] = set()
        while some := list(islice(touched, _AT_ONCE)):
            hidden |= self._hidden(some)
        return hidden

    def shown_links(self, links: Sequence[Link]) -> tuple[Link, ...]:
        """Return the links that do not lead to hidden URLs."""
        hidden = self.among({link.url for link in links})
        return tuple(link for link in links if link.url not in hidden)

    def _hidden(self, keys: Sequence[str]) -> set[str]:
        captured = self._engine.statuses([key for key in keys if len(key) <= _LONGEST_KEY])
        bare = {
            key
            for key in keys
            if key not in captured and self._decisions.hides_values(key, "", "", "", "", "")
        }
        return bare.union(self._hidden_captured(list(captured)))

    def _hidden_captured(self, keys: Sequence[str]) -> Iterator[str]:
        """Yield those of captured urlkeys of which every capture is hidden."""
        asked = [KeysAtTime((key,), _ANY_TIME) for key in keys]
        for key, near in zip(keys, self._engine.captures_near(asked, _MOST_NEAR), strict=True):
            if not all(map(self._decisions.hides, near)):
                continue
            if len(near) < _MOST_NEAR or all(
                map(self._decisions.hides, self._engine.captures(key))
            ):
                yield key


def key_of(url: str) -> str:
    """Return the urlkey of a URL, "" of a text that is none."""
    try:
        return urlkey(url)
    except UrlError:
        return ""
