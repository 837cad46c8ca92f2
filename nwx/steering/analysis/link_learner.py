"""Online learning of which links lead to relevant pages, and exploration while it predicts none.

`LinkLearner` learns from the pages fetched so far; `Exploration` chooses URLs in the order found
while priorities are low.
"""

import math
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import intern
from typing import Generic, NamedTuple, TypeVar

from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.values.urls import host_with_port

LEARNED = "learned"
"""The part of a relevance that comes from the crawl so far; it may be below 0."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_NO_LETTER = re.compile(r"[\W\d_]")
_MOST_WORDS = 12
_MOST_KNOWN = 200_000  # words and places; later ones are not learned
_STEEPNESS, _EVEN = 6.0, 0.55  # of the curve from relevance to the chance of a relevant page
_RATE = 0.3
_DECAY, _DOUBT = 0.97, 3.0  # of a place's yield: per page; pages of mean yield assumed at first
_YIELDS = {"host": 2.0, "folder": 2.0, "family": 4.0, "page": 3.0}
_LIKELY = 2.0  # times the threshold of relevant pages: document score that counts in full
_DIGITS = 6

_Key = TypeVar("_Key", int, str)

EXPLORED = 0.6
"""The priority of explored URLs; links with a higher relevance come first."""

_PAGES = 4
_MOST_FOUND = 20_000


def anchor_words(text: str) -> tuple[str, ...]:
    """Return the words of an anchor to learn from, in lower case."""
    return tuple(map(intern, _WORD.findall(text.lower())[:_MOST_WORDS]))


class LinkFeatures(NamedTuple):
    """Features of a link for the learner, with its relevance by the specification.

    `near` and `document` are parts of the relevance; `family` is the folder with the leading
    letters of the name (`genindex` of `genindex-B.html`); `page` is the linking page with the role.
    """

    relevance: float
    near: float
    document: float
    role: str
    host: str
    folder: str
    family: str
    page: str
    words: tuple[str, ...]


def link_features(link: LinkScore, via: str) -> LinkFeatures:
    """Return the features of a link on the page `via`."""
    rest = link.url.partition("://")[2].partition("?")[0]
    folder, _, name = rest.rpartition("/")
    family = f"{folder}/{_NO_LETTER.split(name, 1)[0]}"
    path = _WORD.findall(link.url.partition("://")[2].partition("/")[2].lower())[:_MOST_WORDS]
    words = (*(f"url {word}" for word in path), *(f"anchor {word}" for word in link.words))
    return LinkFeatures(
        (link.relevance or 0.0) - link.parts.get(LEARNED, 0.0),
        link.parts.get("near", 0.0),
        link.parts.get("document", 0.0),
        link.role,
        intern(host_with_port(link.url)),
        intern(folder),
        intern(family),
        intern(f"{via} {link.role}"),
        tuple(map(intern, dict.fromkeys(words))),
    )


class _Yields:
    """Relevance of the last pages of each place, compared with the mean; older pages fade."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float]] = {}

    def add(self, place: str, outcome: float) -> None:
        relevant, pages = self._sums.get(place, (0.0, 0.0))
        if pages or len(self._sums) < _MOST_KNOWN:
            self._sums[place] = relevant * _DECAY + outcome, pages * _DECAY + 1

    def above(self, place: str, mean: float) -> float:
        relevant, pages = self._sums.get(place, (0.0, 0.0))
        return (relevant - pages * mean) / (pages + _DOUBT)

    def places(self) -> Iterator[tuple[str, float, float]]:
        return ((place, *sums) for place, sums in self._sums.items())


class LinkLearner:
    """A linear model, trained online, that predicts the relevance of a link's target.

    It starts from the relevance by the specification. Each fetched page corrects it, through the
    words of anchors and URLs, hosts, folders, roles, and the yield of host, folder, family and
    linking page. `relevant` is the threshold from which a page is relevant. Not saved: retrain a
    new one with `learn_stored`.
    """

    def __init__(self, relevant: float) -> None:
        self._likely = _LIKELY * relevant
        self._weights: defaultdict[str, float] = defaultdict(float, _YIELDS)
        self._slopes: defaultdict[str, float] = defaultdict(float)
        self._yields = {name: _Yields() for name in _YIELDS}
        self._mean = 0.0
        self.pages = 0

    def change(self, features: LinkFeatures) -> float:
        """Return how much the crawl so far adds to the relevance of a link, in (-1, 1)."""
        if not self.pages:
            return 0.0
        relevance = features.relevance + self._learned(self._values(features)) / _STEEPNESS
        return round(_within(relevance) - features.relevance, _DIGITS)

    def learn(self, features: LinkFeatures, score: float) -> None:
        """Train with the document score of a link's target."""
        outcome = min(1.0, score / self._likely) if self._likely > 0 else 1.0
        values = self._values(features)
        begin = _STEEPNESS * (features.relevance - _EVEN)
        error = outcome - _chance(begin + self._learned(values))
        is_full = len(self._weights) >= _MOST_KNOWN
        for name, value in values.items():
            if is_full and name not in self._weights:
                continue
            step = error * value
            self._slopes[name] += step * step
            self._weights[name] += _RATE * step / math.sqrt(self._slopes[name] + _TINY)
        for name, known in self._yields.items():
            known.add(getattr(features, name), outcome)
        self.pages += 1
        self._mean += (outcome - self._mean) / self.pages

    def learn_stored(self, scores: Iterable[DocumentScore]) -> None:
        """Train with the scores of earlier runs: links whose page and target both have one."""
        pages = list(scores)
        found = {page.url: page.score for page in pages}
        for page in pages:
            for link in page.links:
                if link.relevance is not None and link.url in found:
                    self.learn(link_features(link, page.url), found[link.url])

    def strongest(self, most: int) -> list[tuple[str, float]]:
        """Return the words, hosts, folders and roles with the largest weights, good ones first."""
        named = [(name, weight) for name, weight in self._weights.items() if " " in name]
        chosen = sorted(named, key=lambda one: -abs(one[1]))[:most]
        return sorted(chosen, key=lambda one: -one[1])

    def hosts(self, most: int) -> list[tuple[str, float, float]]:
        """Return the hosts of highest yield: name, relevant pages, pages; older pages fade."""
        known = self._yields["host"].places()
        return sorted(known, key=lambda one: (-one[1] / (one[2] + _DOUBT), one[0]))[:most]

    def _learned(self, values: Mapping[str, float]) -> float:
        return sum(self._weights.get(name, 0.0) * value for name, value in values.items())

    def _values(self, features: LinkFeatures) -> Mapping[str, float]:
        values = {
            "any": 1.0,
            "near": _PART * features.near,
            "document": _PART * features.document,
            f"role {features.role}": 1.0,
            f"host {features.host}": 1.0,
            f"folder {features.folder}": 1.0,
        }
        for name, known in self._yields.items():
            values[name] = known.above(getattr(features, name), self._mean)
        if features.words:
            values.update(dict.fromkeys(features.words, 1 / math.sqrt(len(features.words))))
        return values


_TINY, _EDGE = 1e-6, 0.1
_PART = 3.0  # each part is about a third of a relevance


def _within(relevance: float) -> float:
    """Map a relevance into (0, 1) in the same order; values from 0.1 to 0.9 stay the same."""
    if relevance > 1 - _EDGE:
        return 1 - _EDGE * math.exp((1 - _EDGE - relevance) / _EDGE)
    return relevance if relevance > _EDGE else _EDGE * math.exp((relevance - _EDGE) / _EDGE)


def _chance(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-20.0, min(20.0, logit))))


class Exploration(Generic[_Key]):
    """Chooses every fourth URL of a crawl while priorities are low: the one found first.

    So a crawl never falls far behind breadth-first order when the model is wrong.
    """

    def __init__(self) -> None:
        self._found: deque[_Key] = deque()
        self._pages, self._is_weak = 0, False

    def find(self, url: _Key) -> None:
        """Add a found URL; call once for each."""
        if len(self._found) < _MOST_FOUND:
            self._found.append(url)

    def fetch(self, priority: float) -> None:
        """Count a fetched page that had this priority in the queue."""
        self._pages += 1
        self._is_weak = priority < EXPLORED

    def next(self, is_waiting: Callable[[_Key], bool]) -> _Key | None:
        """Return the URL to explore now, None if none is due."""
        if self._pages < _PAGES or not self._is_weak:
            return None
        self._pages = 0
        while self._found:
            if is_waiting(url := self._found.popleft()):
                return url
        return None
