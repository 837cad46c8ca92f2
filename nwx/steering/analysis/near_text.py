"""The terms near each link: in its anchor, its URL, the words around it and the heading above."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
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


def side_text(page: PageView, apart: Sequence[bool]) -> tuple[str, list[int]]:
    """Return what is to be read of a page beside its text, and where each link's begins.

    For each link a line of words of its URL and, where its anchor is not
    read as part of the text (`apart`), of that; then a line for its heading.
    """
    host = _host(page.url)
    pieces: list[str] = []
    places: list[int] = []
    length = 0
    for link, is_apart in zip(page.links, apart, strict=True):
        text = words_of_url(link.url, host)
        if is_apart:
            text = f"{text} . {link.text}"
        piece = f"{text}\n{link.heading}\n"
        places.append(length)
        pieces.append(piece)
        length += len(piece)
    places.append(length)
    return "".join(pieces), places


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
    """The terms of a page by their places, asked for each link."""

    def __init__(
        self,
        page: PageView,
        matches: Sequence[TermMatch],
        side_matches: Sequence[TermMatch],
        side_places: Sequence[int],
        strengths: Sequence[float],
    ) -> None:
        self._page = page
        self._matches, self._side_matches = matches, side_matches
        self._starts = [match.start for match in matches]
        self._side_starts = [match.start for match in side_matches]
        self._side_places = side_places
        self._strengths = strengths

    def score(self, index: int) -> float:
        """Return the score of what is near the link of an index, in [0, 1)."""
        found: dict[int, float] = {}
        link = self._page.links[index]
        self._add_side(index, link, found)
        if link.place >= 0:
            self._add_content(link, found)
        return near_score([self._strengths[term] * near for term, near in found.items()])

    def _add_side(self, index: int, link: PageLink, found: dict[int, float]) -> None:
        first, last = self._side_places[index], self._side_places[index + 1]
        heading = last - len(link.heading) - 1
        for match in self._side_matches[
            bisect_left(self._side_starts, first) : bisect_left(self._side_starts, last)
        ]:
            near = HEADING if match.start >= heading else ANCHOR
            found[match.term] = max(found.get(match.term, 0.0), near)

    def _add_content(self, link: PageLink, found: dict[int, float]) -> None:
        first = bisect_left(self._starts, link.start)
        last = bisect_left(self._starts, link.end)
        if first == last:
            return
        end = link.place + len(link.text)
        content = self._page.content
        line_start = content.rfind("\n", link.start, link.place) + 1 or link.start
        line_end = content.find("\n", end, link.end)
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
