"""A generated web of a few hundred pages: six sites, one subject to be found, traps and spam.

Deterministic: the subject of each page is known, and so the pages that a crawl about floods should
find. The sites are

- news.example (WordPress): sections, lists over several pages, articles of four subjects;
- blog.example (Blogger): half of it about floods, and an endless calendar;
- forum.example (phpBB): threads, and endless links with session ids;
- wiki.example (MediaWiki): articles, each with editor, history and login;
- shop.example: nothing on the subject, and a relative link that repeats its path endlessly;
- casino.example: spam that mentions the subject, and links to itself.

`python -m benchmarks.topic_pages FOLDER` writes it as a WARC.
"""

import hashlib
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.topic_vocabulary import ENTITIES, KEYWORDS, PLAIN, SUBJECT, WORDS
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    Entity,
    EntityKind,
    Keyword,
    LinkRule,
    RuleAction,
)
from tests.warcs import Page, write_warc

HOSTS = (
    "news.example",
    "blog.example",
    "forum.example",
    "wiki.example",
    "shop.example",
    "casino.example",
)
SEEDS = (
    ("news.example", "/"),
    ("forum.example", "/"),
    ("wiki.example", "/wiki/Main_Page"),
    ("shop.example", "/"),
)
"""The seeds of a crawl, without the blog, which it has to find."""
SPAM_HOSTS = ("casino.example",)
TRAP_PAGES = 40
"""The number of pages of each trap in a WARC."""

_SUBJECTS = {
    "news.example": {"flood": 18, "politics": 22, "sport": 22, "culture": 22},
    "blog.example": {"flood": 18, "Hochwasser": 6, "garden": 22},
    "forum.example": {"flood": 14, "software": 26, "sport": 20},
    "wiki.example": {"flood": 12, "Hochwasser": 4, "science": 26, "culture": 18},
    "shop.example": {"goods": 70},
    "casino.example": {"casino": 50},
}
"""The number of pages of each subject on each site."""
_OF_SUBJECT = {SUBJECT, "Hochwasser"}
_LISTED = 12
_GENERATORS = {
    "news.example": "WordPress 6.4",
    "blog.example": "Blogger",
    "forum.example": "",
    "wiki.example": "MediaWiki 1.41",
    "shop.example": "",
    "casino.example": "",
}


class Target(NamedTuple):
    """A page by site and path, independent of the address of the site."""

    host: str
    path: str


@dataclass(frozen=True, slots=True)
class TopicPage:
    """A page: its subject ("" for lists and home pages), and the HTML of its text."""

    target: Target
    title: str
    subject: str
    text: str
    links: tuple[Target, ...]
    lists: bool = False

    @property
    def relevant(self) -> bool:
        """Whether a crawl about floods should find the page."""
        return self.subject in _OF_SUBJECT


@dataclass(slots=True)
class TopicPages:
    """All pages, as served at `addresses` (by host; default: `http://HOST`)."""

    addresses: Mapping[str, str] = field(default_factory=dict)
    pages: dict[Target, TopicPage] = field(default_factory=lambda: dict(_all_pages()))

    def url(self, target: Target) -> str:
        """Return the URL of a page."""
        return self.addresses.get(target.host, f"http://{target.host}") + target.path

    @property
    def seeds(self) -> list[str]:
        """The seeds of a crawl."""
        return [self.url(Target(*seed)) for seed in SEEDS]

    @property
    def relevant(self) -> frozenset[str]:
        """The URLs of the pages that a crawl about floods should find."""
        return frozenset(self.url(page.target) for page in self.pages.values() if page.relevant)

    def specification(self, name: str = "floods") -> CrawlSpecification:
        """Return the specification of a crawl of these pages: floods, without the spam."""
        spam = (urlsplit(self.url(Target(host, "/"))).hostname or "" for host in SPAM_HOSTS)
        return CrawlSpecification(
            name,
            tuple(self.seeds),
            tuple(Keyword(*each) for each in KEYWORDS),
            tuple(Entity(named, other, EntityKind(kind)) for named, other, kind in ENTITIES),
            (LinkRule(RuleAction.BLACKLIST, hosts=tuple(spam)),),
        )

    def body(self, host: str, path: str) -> bytes | None:
        """Return the HTML at a path of a site, None without a page."""
        page = self.pages.get(Target(host, path))
        if page is None:
            page = _trap_page(Target(host, path))
        return None if page is None else self._html(page)

    def trap_pages(self) -> Iterator[Target]:
        """Yield the first pages of each trap, in the order of a crawler that follows its links."""
        for start in (
            Target("blog.example", _month(2024 * 12)),
            Target("forum.example", f"/index?sid={_session('/')}"),
            Target("shop.example", "/catalogue/offers"),
        ):
            target = start
            for _ in range(TRAP_PAGES):
                yield target
                page = _trap_page(target)
                assert page is not None
                target = page.links[0]

    def _html(self, page: TopicPage) -> bytes:
        host = page.target.host
        generator = _GENERATORS[host]
        meta = f'<meta name="generator" content="{generator}">' if generator else ""
        return (
            f'<!DOCTYPE html><html lang="{"de" if page.subject == "Hochwasser" else "en"}"><head>'
            f'<meta charset="utf-8"><title>{escape(page.title)}</title>{meta}'
            '<link rel="stylesheet" href="/style.css"></head>'
            f"<body>{self._menu(page)}<main><h1>{escape(page.title)}</h1>{page.text}"
            f"{self._links(page)}</main>{self._margin(page)}</body></html>"
        ).encode()

    def _menu(self, page: TopicPage) -> str:
        links = [(Target(page.target.host, "/"), "Home"), *_navigation(page.target)]
        items = "".join(
            f'<li class="menu-item"><a href="{self._reference(page, target)}">{name}</a></li>'
            for target, name in links
        )
        return f'<nav class="menu"><ul>{items}</ul></nav>'

    def _links(self, page: TopicPage) -> str:
        source = _source(page.target, "links")
        return "".join(self._link(page, target, source) for target in page.links)

    def _link(self, page: TopicPage, target: Target, source: random.Random) -> str:
        href = self._reference(page, target)
        other = self.pages.get(target)
        if other is None or not other.subject:
            return f'<p><a href="{href}">{escape(other.title if other else "next")}</a></p>'
        teaser = _sentence(other.subject, source, 14)
        if source.random() < 0.25:
            return f'<p>{teaser} <a href="{href}">read more</a></p>'
        return f'<p><a href="{href}">{escape(other.title)}</a> {teaser}</p>'

    def _margin(self, page: TopicPage) -> str:
        source = _source(page.target, "margin")
        spam = Target("casino.example", f"/win/{source.randrange(50)}")
        banner = Target("shop.example", f"/product/{source.randrange(70)}")
        return (
            f'<aside class="ads"><a class="advertisement" href="{self.url(spam)}">Win now</a>'
            f' <a class="banner" href="{self.url(banner)}">Sale</a></aside>'
            "<footer>made for tests</footer>"
        )

    def _reference(self, page: TopicPage, target: Target) -> str:
        return escape(target.path if target.host == page.target.host else self.url(target))


def _all_pages() -> Iterator[tuple[Target, TopicPage]]:
    articles = {host: list(_articles(host)) for host in HOSTS}
    by_subject: dict[str, list[Target]] = {}
    for found in articles.values():
        for target, subject in found:
            by_subject.setdefault(subject, []).append(target)
    for host, found in articles.items():
        for target, subject in found:
            yield target, _article(target, subject, by_subject)
        for page in _lists(host, found):
            yield page.target, page


def _articles(host: str) -> Iterator[tuple[Target, str]]:
    """Yield the pages of a site that have a subject, in arbitrary order."""
    subjects = [name for name, count in _SUBJECTS[host].items() for _ in range(count)]
    random.Random(host).shuffle(subjects)
    for number, subject in enumerate(subjects):
        yield Target(host, _path(host, number)), subject


def _path(host: str, number: int) -> str:
    match host:
        case "news.example":
            return f"/2024/{number % 12 + 1:02}/article-{number}/"
        case "blog.example":
            return f"/2024/{number % 12 + 1:02}/post-{number}.html"
        case "forum.example":
            return f"/viewtopic.php?f={number % 3 + 1}&t={number}"
        case "wiki.example":
            return f"/wiki/Article_{number}"
        case "shop.example":
            return f"/product/{number}"
        case _:
            return f"/win/{number}"


def _article(target: Target, subject: str, by_subject: dict[str, list[Target]]) -> TopicPage:
    source = _source(target, "text")
    own = [each for each in by_subject[subject] if each != target]
    near = [each for each in own if each.host == target.host]
    links = source.sample(near, min(3, len(near)))
    links += source.sample(own, min(2, len(own)))
    if subject in _OF_SUBJECT:
        links += source.sample([t for s in sorted(_OF_SUBJECT) for t in by_subject[s]], 2)
    elif source.random() < 0.12 and subject != "casino":
        links += source.sample(by_subject[SUBJECT], 1)
    everything = [each for name in sorted(by_subject) for each in by_subject[name]]
    here = [each for each in everything if each.host == target.host]
    links += source.sample(here, 4)
    paragraphs = [_sentence(subject, source, source.randint(40, 70)) for _ in range(3)]
    if subject == "casino" or source.random() < 0.05:
        paragraphs.append("A flood of offers.")
    if subject in _OF_SUBJECT and source.random() < 0.5:
        paragraphs.append("The THW helped along the Elbe.")
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    unique = tuple(dict.fromkeys(each for each in links if each != target))
    return TopicPage(target, _title(subject, source), subject, text, unique)


def _lists(host: str, articles: list[tuple[Target, str]]) -> Iterator[TopicPage]:
    """Yield the lists that link to all pages of a site, and its home page."""
    first = _list_path(host, 0)
    pages = [articles[n : n + _LISTED] for n in range(0, len(articles), _LISTED)]
    for number, listed in enumerate(pages):
        links = [target for target, _ in listed]
        if number + 1 < len(pages):
            links.append(Target(host, _list_path(host, number + 1)))
        title = f"{host.partition('.')[0].title()} page {number + 1}"
        yield TopicPage(Target(host, _list_path(host, number)), title, "", "", tuple(links), True)
    home = Target(host, "/wiki/Main_Page" if host == "wiki.example" else "/")
    links = [Target(host, first), *(target for target, _ in articles[:: len(articles) // 6])]
    welcome = f"<p>Welcome to {host}. {_sentence('', _source(home, 'text'), 30)}</p>"
    yield TopicPage(home, f"Home of {host}", "", welcome, tuple(links), True)


def _list_path(host: str, number: int) -> str:
    match host:
        case "news.example":
            return f"/page/{number + 1}/"
        case "blog.example":
            return f"/search?start={number * _LISTED}"
        case "forum.example":
            return f"/viewforum.php?f=1&start={number * _LISTED}"
        case "wiki.example":
            return f"/index.php?title=Special:AllPages&from={number * _LISTED}"
        case _:
            return f"/list/{number}"


def _navigation(target: Target) -> list[tuple[Target, str]]:
    """Return the other links in the menu of a page: logins, editors, and entries of traps."""
    host, path = target
    match host:
        case "news.example":
            found = [("/wp-login.php", "Log in"), ("/page/1/", "All articles")]
        case "blog.example":
            found = [(_month(2024 * 12), "Calendar"), ("/search?start=0", "Older posts")]
        case "forum.example":
            found = [
                (f"/index?sid={_session(path)}", "Board index"),
                ("/ucp.php?mode=login", "Login"),
            ]
        case "wiki.example":
            name = path.rpartition("/")[2] if path.startswith("/wiki/") else "Main_Page"
            found = [
                ("/index.php?title=Special:UserLogin", "Log in"),
                (f"/index.php?title={name}&action=edit", "Edit"),
                (f"/index.php?title={name}&action=history", "History"),
            ]
        case "shop.example":
            found = [("/catalogue/offers", "Offers"), ("/cart", "Basket")]
        case _:
            found = [("/list/0", "More luck")]
    return [(Target(host, path), name) for path, name in found]


def _trap_page(target: Target) -> TopicPage | None:
    """Return a page of a trap, generated on request, which links to the next one."""
    host, path = target
    source = _source(target, "trap")
    if host == "blog.example" and path.startswith("/calendar/") and path.count("/") == 3:
        year, month = path.split("/")[2:]
        if not (year.isdigit() and month.isdigit()):
            return None
        number = int(year) * 12 + int(month) - 1
        links = [_month(number + 1), _month(number - 1)]
    elif host == "forum.example" and path.startswith("/index?sid="):
        links = [f"/index?sid={_session(path)}", f"/index?sid={_session(path + '2')}"]
    elif host == "shop.example" and path.endswith("catalogue/offers"):
        # The result of the relative link catalogue/offers on /catalogue/offers.
        links = [f"{path.removesuffix('offers')}catalogue/offers"]
    else:
        return None
    text = f"<p>{_sentence('', source, 40)}</p>"
    return TopicPage(target, "Overview", "", text, tuple(Target(host, link) for link in links))


def _month(number: int) -> str:
    return f"/calendar/{number // 12:04}/{number % 12 + 1:02}"


def _session(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _source(target: Target, purpose: str) -> random.Random:
    return random.Random(f"{purpose} {target.host}{target.path}")


def _title(subject: str, source: random.Random) -> str:
    words = source.sample(WORDS[subject], 2) + source.sample(PLAIN[40:], 2)
    return " ".join(words).capitalize()


def _sentence(subject: str, source: random.Random, words: int) -> str:
    """Return words, one in five from the subject."""
    own = WORDS.get(subject, PLAIN)
    drawn = [source.choice(own if source.random() < 0.2 else PLAIN) for _ in range(words)]
    return " ".join(drawn).capitalize() + "."


def write_topic_warc(folder: Path) -> Path:
    """Write all pages, and the first ones of each trap, to a WARC; return its path."""
    made = TopicPages()
    records = [
        Page(
            made.url(target),
            f"202401{number // 1440 % 28 + 1:02}{number // 60 % 24:02}{number % 60:02}00",
            body,
        )
        for number, target in enumerate([*made.pages, *made.trap_pages()])
        if (body := made.body(*target)) is not None
    ]
    return write_warc(folder / "topic.warc.gz", records)


if __name__ == "__main__":
    print(write_topic_warc(Path(sys.argv[1])))
