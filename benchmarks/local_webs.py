"""Generated webs with topical locality for tests of steering: hubs, bridges, traps, spam.

Webs are determined by their seed. Pages are about one of several topics with artificial words; the
relevant pages are known. The parameters of `WebShape` make a web easy or hard.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from nwx.steering.specifications.specification import CrawlSpecification, Keyword

_SYLLABLES = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
_PLAIN = (
    "the people who were there said that it would take some time before anything could be done"
    " about this and that many of them had been waiting for years while others left the place"
).split()
_TOPIC_WORDS, _KEYWORDS = 40, 6
_ON_TOPIC = 0  # the number of the crawl's topic


@dataclass(frozen=True, slots=True)
class WebShape:
    """Shape of a generated web; shares and probabilities are from 0 to 1.

    `locality` is how often a link leads to a page of the same topic, `hubs` the share of pages that
    list many pages of a topic, `bridges` the share of relevant pages that only pages of other
    topics link to, `plain_anchors` how often an anchor is meaningless ("read more"), `opaque_urls`
    how often a URL has a number in place of words, `named` how many of the keywords a relevant
    page has at least one of. `traps` and `spam` are numbers of pages.
    """

    pages: int = 800
    hosts: int = 12
    topics: int = 8
    relevant: float = 0.12
    locality: float = 0.6
    hubs: float = 0.04
    bridges: float = 0.15
    plain_anchors: float = 0.4
    opaque_urls: float = 0.5
    named: float = 0.9
    traps: int = 60
    spam: int = 40


SHAPES = {
    "local": WebShape(),
    "mixed": WebShape(locality=0.35, hubs=0.02, bridges=0.3),
    "opaque": WebShape(plain_anchors=0.8, opaque_urls=0.9, named=0.75, spam=80),
}
"""The webs for measuring steering, from benign to hard."""


class LocalWeb:
    """A web of some shape: `pages` has the HTML of each URL, `relevant` the relevant URLs."""

    def __init__(self, shape: WebShape, seed: int) -> None:
        self._shape, self._chance = shape, random.Random(seed)
        words = self._made_words(shape.topics * _TOPIC_WORDS)
        self._words = [words[n :: shape.topics] for n in range(shape.topics)]
        self._topics = self._chosen_topics()
        self._places = self._chosen_places()
        self._hidden = {
            n
            for n, topic in enumerate(self._topics)
            if topic == _ON_TOPIC and self._chance.random() < shape.bridges
        }
        self._titles = [" ".join(self._some(topic, 3)) for topic in self._topics]
        self.pages: Mapping[str, str] = self._written()

    @cached_property
    def relevant(self) -> frozenset[str]:
        """The URLs of the relevant pages."""
        return frozenset(self._url(n) for n, topic in enumerate(self._topics) if topic == _ON_TOPIC)

    def specification(self, name: str = "made") -> CrawlSpecification:
        """Return the crawl specification: some words of the topic, seeds on three hosts."""
        keywords = [Keyword(word, 2.0) for word in self._words[_ON_TOPIC][:_KEYWORDS]]
        seeds = tuple(f"http://host{n}.example/" for n in range(1, 4))
        return CrawlSpecification(name, seeds, tuple(keywords))

    def _made_words(self, number: int) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < number:
            found["".join(self._chance.choices(_SYLLABLES, k=3))] = None
        return list(found)

    def _chosen_topics(self) -> list[int]:
        others = range(1, self._shape.topics)
        share = self._shape.relevant
        return [
            _ON_TOPIC if self._chance.random() < share else self._chance.choice(others)
            for _ in range(self._shape.pages)
        ]

    def _chosen_places(self) -> list[tuple[str, str]]:
        """Return host and path of each page: hosts have few topics, folders mostly one."""
        chance, shape = self._chance, self._shape
        homes = [chance.sample(range(shape.hosts), 3) for _ in range(shape.topics)]
        homes[_ON_TOPIC] = chance.sample(range(4, shape.hosts), 3)
        places = []
        for number, topic in enumerate(self._topics):
            host = chance.choice(homes[topic] if chance.random() < 0.7 else range(shape.hosts))
            folder = topic if chance.random() < 0.75 else chance.randrange(shape.topics)
            name = "-".join(self._some(topic, 2))
            if chance.random() < shape.opaque_urls:
                name = f"item{number}"
            places.append((f"host{host}.example", f"/s{folder}/{name}-{number}.html"))
        return places

    def _some(self, topic: int, number: int) -> list[str]:
        """Return random words of a text on a topic."""
        words = self._words[topic]
        if topic == _ON_TOPIC and self._chance.random() > self._shape.named:
            words = words[_KEYWORDS:]
        return self._chance.sample(words, number)

    def _url(self, number: int) -> str:
        host, path = self._places[number]
        return f"http://{host}{path}"

    def _written(self) -> dict[str, str]:
        by_topic: list[list[int]] = [[] for _ in range(self._shape.topics)]
        for number, topic in enumerate(self._topics):
            if number not in self._hidden:
                by_topic[topic].append(number)
        found = {self._url(n): self._page(n, by_topic) for n in range(len(self._topics))}
        for host in range(self._shape.hosts):
            found[f"http://host{host}.example/"] = self._home(f"host{host}.example")
        return found | self._traps() | self._spam()

    def _page(self, number: int, by_topic: Sequence[Sequence[int]]) -> str:
        chance, topic = self._chance, self._topics[number]
        is_hub = chance.random() < self._shape.hubs
        targets = []
        for _ in range(chance.randint(20, 40) if is_hub else chance.randint(3, 9)):
            same = chance.random() < self._shape.locality
            towards = topic if same else chance.randrange(self._shape.topics)
            targets.append(chance.choice(by_topic[towards]))
        if topic != _ON_TOPIC and self._hidden and chance.random() < 0.15:
            targets.append(chance.choice(sorted(self._hidden)))
        text = self._text(topic, 20 if is_hub else 120)
        return self._html(self._places[number][0], self._titles[number], text, targets)

    def _text(self, topic: int, length: int) -> str:
        chance = self._chance
        own = self._some(topic, 12)
        return " ".join(
            chance.choice(own) if chance.random() < 0.2 else chance.choice(_PLAIN)
            for _ in range(length)
        )

    def _anchor(self, number: int) -> str:
        plain = self._chance.random() < self._shape.plain_anchors
        return self._chance.choice(("Read more", "more", "here")) if plain else self._titles[number]

    def _home(self, host: str) -> str:
        own = [n for n, place in enumerate(self._places) if place[0] == host]
        first = self._chance.sample(own, min(len(own), 15))
        return self._html(host, host, " ".join(_PLAIN), first)

    def _html(self, host: str, title: str, text: str, targets: Sequence[int]) -> str:
        hosts = self._chance.sample(range(self._shape.hosts), 2)
        menu = [f"http://{host}/", *(f"http://host{n}.example/" for n in hosts)]
        if self._shape.traps and self._chance.random() < 0.1:
            menu.append(
                f"http://trap.example/calendar?day={self._chance.randrange(self._shape.traps)}"
            )
        if self._shape.spam and self._chance.random() < 0.03:
            menu.append(f"http://spam.example/{self._chance.randrange(self._shape.spam)}")
        links = [(self._url(n), self._anchor(n)) for n in targets]
        return _html(title, text, menu, links)

    def _traps(self) -> dict[str, str]:
        """Return calendar pages with words of the topic and links to more such pages."""
        found: dict[str, str] = {}
        for number in range(self._shape.traps):
            links = [
                (f"http://trap.example/calendar?day={(number * 7 + n) % self._shape.traps}", "next")
                for n in range(1, 6)
            ]
            url = f"http://trap.example/calendar?day={number}"
            found[url] = _html("calendar", " ".join(_PLAIN), [], links)
        return found

    def _spam(self) -> dict[str, str]:
        """Return pages of a link farm, stuffed with words of the topic."""
        found: dict[str, str] = {}
        words = self._words[_ON_TOPIC][:_KEYWORDS]
        for number in range(self._shape.spam):
            text = " ".join(self._chance.choices(words, k=150))
            links = [
                (f"http://spam.example/{self._chance.randrange(self._shape.spam)}", " ".join(words))
                for _ in range(15)
            ]
            found[f"http://spam.example/{number}"] = _html(words[0], text, [], links)
        return found


def _html(title: str, text: str, menu: Sequence[str], links: Sequence[tuple[str, str]]) -> str:
    top = "".join(f'<a href="{escape(url)}">{escape(url[7:])}</a> ' for url in menu)
    body = "".join(f'<p><a href="{escape(url)}">{escape(said)}</a></p>' for url, said in links)
    return (
        f"<html lang=en><head><title>{escape(title)}</title></head><body><nav>{top}</nav>"
        f"<article><h1>{escape(title)}</h1><p>{escape(text)}</p>{body}</article></body></html>"
    )
