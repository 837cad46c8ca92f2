"""The terms near each link: in its anchor, its URL, the words around it and the heading above."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import unquote

from nwx.steering.analysis.page_view import PageLink, PageView
from nwx.steering.analysis.relevance import ANCHOR, AROUND, HEADING, LINE, near_score
from nwx.steering.analysis.term_matches import TermMatch

_SEPARATORS = re.compile(r"[-_./?&=+:;,~|]+")
_LONGEST_URL = 300


def text_without(content: str, links: Iterable[PageLink]) -> str:
    """Return a text with blanks in place of the anchors of some of its links, in their order."""
    pieces = []
    done = 0
    for link in links:
        if link.place >= done and link.text:
            end = min(link.place + len(link.text), len(content))
            pieces += [content[done : link.place], " " * (end - link.place)]
            done = end
    return "".join([*pieces, content[done:]]) if pieces else content


class SideText(NamedTuple):
    """What is to be read of a page beside its text.

    For each link there is a line of words of its URL, and of its anchor
    where that is not read as part of the text; then one for each heading.
    `places` are where the lines begin, and where the last one ends;
    `headings` are the indices of their lines.
    """

    text: str
    places: Sequence[int]
    headings: Mapping[str, int]


def side_text(page: PageView, apart: Sequence[bool]) -> SideText:
    """Return what is to be read beside the text; the anchors of links that are `apart` too."""
    host = _host(page.url)
    lines = []
    headings: dict[str, int] = {}
    for link, is_apart in zip(page.links, apart, strict=True):
        words = words_of_url(link.url, host)
        lines.append(f"{words} . {link.text}\n" if is_apart else f"{words}\n")
        headings.setdefault(link.heading, len(page.links) + len(headings))
    lines += [f"{heading}\n" for heading in headings]
    return SideText("".join(lines), list(accumulate(map(len, lines), initial=0)), headings)


def words_of_url(url: str, host: str) -> str:
    """Return the words of a URL, without those of its host if that is `host`."""
    rest = url[:_LONGEST_URL].partition("://")[2]
    if rest.startswith(host):
        rest = rest[len(host) :]
    if "%" in rest:
        rest = unquote(rest).replace("\n", " ")
    return _SEPARATORS.sub(" ", rest)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


class NearTerms:
    """The terms of a page by their places, asked for each link.

    `matches` are those in its text, `side_matches` those in its side text.
    """

    def __init__(
        self,
        page: PageView,
        matches: Sequence[TermMatch],
        side: SideText,
        side_matches: Sequence[TermMatch],
        strengths: Sequence[float],
    ) -> None:
        self._page = page
        self._matches = matches
        self._starts = [match.start for match in matches]
        self._lines: defaultdict[int, list[int]] = defaultdict(list)
        for match in side_matches:
            self._lines[bisect_right(side.places, match.start) - 1].append(match.term)
        self._headings = {
            heading: self._lines[line]
            for heading, line in side.headings.items()
            if line in self._lines
        }
        self._strengths = strengths

    def score(self, index: int) -> float:
        """Return the score of what is near the link of an index, in [0, 1)."""
        found: dict[int, float] = {}
        link = self._page.links[index]
        if link.heading in self._headings:
            found = dict.fromkeys(self._headings[link.heading], HEADING)
        if index in self._lines:
            found |= dict.fromkeys(self._lines[index], ANCHOR)
        if link.start >= 0 and self._starts:
            self._add_content(link, found)
        if not found:
            return 0.0
        return near_score([self._strengths[term] * near for term, near in found.items()])

    def _add_content(self, link: PageLink, found: dict[int, float]) -> None:
        first = bisect_left(self._starts, link.start)
        last = bisect_left(self._starts, link.end)
        if first == last:
            return
        end, line_start, line_end = self._line(link)
        for match in self._matches[first:last]:
            if match.end > link.end:
                continue
            if link.place <= match.start < end:
                near = ANCHOR
            elif line_start <= match.start and (line_end < 0 or match.start < line_end):
                near = LINE
            else:
                near = AROUND
            found[match.term] = max(found.get(match.term, 0.0), near)

    def _line(self, link: PageLink) -> tuple[int, int, int]:
        """Return where the anchor ends, and where its line begins and ends (-1: further on)."""
        if link.place < 0:
            return -1, link.end, link.end
        end = link.place + len(link.text)
        content = self._page.content
        line_start = content.rfind("\n", link.start, link.place) + 1 or link.start
        return end, line_start, content.find("\n", end, link.end)
