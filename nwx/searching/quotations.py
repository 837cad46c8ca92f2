"""Quotations: the captures that contain a text word for word, and since and until when."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.document_index import current_work
from nwx.errors import UsageError
from nwx.keys import capture_key, document_id
from nwx.model import Capture, Collapse, Document
from nwx.query.question import Question
from nwx.query.tree import Bool, Node, Phrase, Term
from nwx.searching.documents import captures_by_any_method
from nwx.values.timestamps import date_bounds
from nwx.values.urlkeys import urlkey, with_scheme

MOST_QUOTED = 10_000
"""The longest quotation, in characters."""

MOST_COMPARED = 10_000
"""The most documents from the index that are compared with a quotation."""

_AT_ONCE = 100
_MOST_ORIGINALS = 10
_PHRASE_WORDS = 16
_PARTS = ("content", "title", "description")
_UNSEEN = "\u00ad\u200b\u2060\ufeff"
"""Soft hyphens and zero-width spaces, which are invisible."""

_DROP = dict.fromkeys(map(ord, _UNSEEN))
_QUOTATION_MARKS = '["\u00ab\u00bb\u201c-\u201f\u2033]'
_APOSTROPHES = "['`\u00b4\u2018-\u201b\u2032\u2039\u203a]"
"""Variants of the apostrophe, which typesetters and programs use interchangeably."""

_LOOSE_MARK = rf"\\s*{_QUOTATION_MARKS}\\s*"

_ALONE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u309f\u3400-\u9fff]")
"""Characters of scripts without spaces between words."""

_UNTOKENIZED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Scripts of which the index keeps a run of words as one token."""

_HYPHENS = "-\u2010\u2011"
_JOINERS = f"{_HYPHENS}'\u2019"
_NUMBER = re.compile(r"\d[.,]\d")
_NO_TEXT = (3, 5)
"""Status classes of redirects and server errors, which say nothing about a page's text."""


@dataclass(frozen=True, slots=True)
class QuotedVersion:
    """A version with the quoted words: their first place in one of its parts, and its dates.

    `part` is content, title or description; `start` and `end` are character offsets in it.
    """

    id: str
    url: str
    digest: str
    title: str
    part: str
    start: int
    end: int
    timestamps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuotePeriod:
    """Consecutive captures that all have the words.

    `before` and `after` are the nearest captures of the URL without the words, "" if there are none
    or if several URLs were compared.
    """

    first: str
    last: str
    captures: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Quotation:
    """The captures that contain quoted words, by version and by period.

    `compared` counts the documents whose texts were read; `complete` says whether these were all
    that could contain the words.
    """

    text: str
    verified: bool
    first: str
    last: str
    captures: int
    versions: tuple[QuotedVersion, ...]
    periods: tuple[QuotePeriod, ...]
    compared: int
    complete: bool


class QuoteScope(NamedTuple):
    """The scope of a search: a URL, a site (domain or host) or the archive, between two dates."""

    url: str = ""
    site: str = ""
    from_: str = ""
    to: str = ""


class _Dated(NamedTuple):
    document: Document
    id: str
    timestamps: Iterable[str]


class QuotedWords:
    """Quoted words to search for.

    White space, Unicode normalization forms, soft hyphens and variants of quotation marks are
    ignored.
    """

    def __init__(self, text: str) -> None:
        self.text = " ".join(_normal(text).split())
        if not any(map(str.isalnum, self.text)):
            raise UsageError.translated("a quotation needs a word")
        if len(self.text) > MOST_QUOTED:
            raise UsageError.translated(
                "a quotation has at most %(most)s characters", most=MOST_QUOTED
            )
        words = re.escape(self.text).replace("\\ ", r"\s+")
        words = re.sub(_APOSTROPHES, _APOSTROPHES, words)
        # Some languages put spaces inside quotation marks.
        words = re.sub(rf"(\\s\+)?{_QUOTATION_MARKS}(\\s\+)?", _LOOSE_MARK, words)
        words = words.replace(r"\s*\s*", r"\s*")  # else backtracking takes too long
        words = words.removeprefix(r"\s*").removesuffix(r"\s*")
        self._pattern = re.compile(words)

    def place(self, text: str) -> tuple[int, int] | None:
        """Return the start and end of the first match in a text, None without a match."""
        places = None
        if not _is_normal(text):
            text = unicodedata.normalize("NFC", text)
            places = [place for place, sign in enumerate(text) if sign not in _UNSEEN]
            text = text.translate(_DROP)
        found = self._pattern.search(text)
        while found and any(_is_inside(text, place) for place in found.span()):
            found = self._pattern.search(text, found.start() + 1)
        if not found:
            return None
        start, end = found.span()
        return (places[start], places[end - 1] + 1) if places else (start, end)

    def candidates(self) -> Node:
        """Return a query that matches all documents with the words, and possibly others.

        Raises UsageError if the index cannot find the words.
        """
        words = self.text.split()
        # The first and the last may be parts of tokens: `end.Start`.
        inner = words[1:-1] if len(words) > 3 else words
        runs = [list(run) for apart, run in groupby(inner, _is_untokenized) if not apart]
        runs = [run for run in runs if any(map(str.isalnum, "".join(run)))]
        if not runs and not _UNTOKENIZED.search(self.text):
            runs = [words]
        if not runs:
            raise UsageError.translated(
                "words of a script without spaces can be found only at a URL; name one"
            )
        run = max(runs, key=lambda run: len("".join(run)))
        longest = max(range(len(run)), key=lambda place: len(run[place]))
        start = max(0, longest - _PHRASE_WORDS // 2)
        phrase = " ".join(run[start : start + _PHRASE_WORDS])
        return Bool(should=tuple(Phrase(part, phrase) for part in _PARTS))


def find_quotation(engine: Engine, text: str, scope: QuoteScope) -> Quotation:
    """Return the captures that contain quoted words exactly.

    Compares the words with all versions of a URL, or else with at most MOST_COMPARED documents from
    the index. Raises HiddenError if all captures of the URL are hidden, and UsageError on a text or
    scope that cannot be searched.
    """
    words = QuotedWords(text)
    if scope.url and scope.site:
        raise UsageError.translated("name a URL or a site, not both")
    low, last = date_bounds(scope.from_, scope.to)
    high = last or "9" * 14
    found, moments, compared = [], [], 0
    documents = _of_url(engine, scope.url) if scope.url else _of_index(engine, words, scope)
    for one in islice(documents, None if scope.url else MOST_COMPARED + 1):
        current_work().check()
        compared += 1
        timestamps = sorted({each for each in one.timestamps if low <= each <= high})
        version = _quoted(words, one, tuple(timestamps)) if timestamps else None
        if version:
            found.append(version)
        if version or (scope.url and _tells(one.document)):
            moments += [(each, version is not None) for each in timestamps]
    complete = bool(scope.url) or compared <= MOST_COMPARED
    versions = sorted(found, key=lambda one: (one.timestamps[0], one.url, one.id))
    periods = tuple(_periods(sorted(moments)))
    return Quotation(
        words.text,
        bool(found),
        periods[0].first if periods else "",
        periods[-1].last if periods else "",
        sum(one.captures for one in periods),
        tuple(versions),
        periods,
        compared,
        complete,
    )


def _of_url(engine: Engine, url: str) -> Iterator[_Dated]:
    """Yield the documents of all captures of a URL with their dates.

    Captures of requests with a body count only if there are no others.
    """
    captures = defaultdict(list)
    by_get = list(engine.captures(urlkey(with_scheme(url))))
    for one in by_get or captures_by_any_method(engine, url):
        if one.document_id:
            captures[one.document_id].append(one)
    if not captures:
        # Imported here: most URLs have captures, and this loads all code that restricts access.
        from nwx.access.restricted_engine import check_url_shown

        check_url_shown(engine, url)
    for some in batches(captures, _AT_ONCE):
        documents, dates = engine.texts(some), engine.dates(some)
        for id in some:
            timestamps = {one.timestamp for one in captures[id]}
            timestamps |= {seen for seen, _ in dates[id].seen} if id in dates else set()
            if id in documents:
                yield _Dated(documents[id], id, timestamps)
            else:
                yield from _elsewhere(engine, captures[id], timestamps)


def _elsewhere(
    engine: Engine, captures: list[Capture], timestamps: Iterable[str]
) -> Iterator[_Dated]:
    """Yield the separate documents of captures, else one of another URL with the same digest."""
    own = {document_id(capture_key(one)): one.timestamp for one in captures}
    documents = engine.texts(list(own))
    for id, document in documents.items():
        yield _Dated(document, id, (own[id],))
    if documents:
        return
    originals = islice(engine.captures_by_digest(captures[0].digest), _MOST_ORIGINALS)
    for id, document in islice(engine.texts([one.document_id for one in originals]).items(), 1):
        yield _Dated(document, id, timestamps)


def _of_index(engine: Engine, words: QuotedWords, scope: QuoteScope) -> Iterator[_Dated]:
    """Yield the documents found by the index that may have the words."""
    tree = words.candidates()
    if scope.site:
        site = scope.site.strip().lower()
        of_site = Bool(should=(Term("domain", site), Term("host", site)))
        tree = Bool(must=(tree, of_site))
    asked = Question(
        tree, date_from=scope.from_, date_to=scope.to, collapse=Collapse.NONE, snippets=False
    )
    hits = engine.scroll(asked)
    while some := {hit.id: hit for hit in islice(hits, _AT_ONCE)}:
        for id, document in engine.texts(list(some)).items():
            yield _Dated(document, id, some[id].dates)


def _quoted(words: QuotedWords, one: _Dated, timestamps: tuple[str, ...]) -> QuotedVersion | None:
    capture, extract = one.document.capture, one.document.extract
    for part in _PARTS:
        if place := words.place(getattr(extract, part)):
            head = one.id, capture.url, capture.digest, extract.title
            return QuotedVersion(*head, part, *place, timestamps)
    return None


def _tells(document: Document) -> bool:
    """Return whether the absence of words in a document means that the page lacked them."""
    return (document.capture.status_code or 0) // 100 not in _NO_TEXT


def _periods(moments: list[tuple[str, bool]]) -> Iterator[QuotePeriod]:
    runs = [(has, [each for each, _ in run]) for has, run in groupby(moments, lambda one: one[1])]
    bounded = [(False, [""]), *runs, (False, [""])]
    for place, (has, run) in enumerate(runs, 1):
        if has:
            before, after = bounded[place - 1][1][-1], bounded[place + 1][1][0]
            yield QuotePeriod(run[0], run[-1], len(run), before, after)


def _is_untokenized(word: str) -> bool:
    return _UNTOKENIZED.search(word) is not None


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text).translate(_DROP)


def _is_normal(text: str) -> bool:
    if text.isascii():
        return True
    return unicodedata.is_normalized("NFC", text) and not any(map(text.__contains__, _UNSEEN))


def _is_inside(text: str, place: int) -> bool:
    """Return whether an offset of a text is inside a word or number, as before `he` in `she`."""
    left, right = text[max(0, place - 2) : place], text[place : place + 2]
    if not left or not right:
        return False
    if _is_mark(right[0]):
        return True
    if _is_word(left[-1]) and _is_word(right[0]):
        return not (_ALONE.match(left[-1]) or _ALONE.match(right[0]))
    if right[0] in _JOINERS and len(right) > 1:  # can't
        return _is_word(left[-1]) and _is_word(right[1])
    if left[-1] in _HYPHENS and len(left) > 1:  # re-elected, but not l'archive
        return _is_word(left[0]) and _is_word(right[0])
    return bool(_NUMBER.match(left[-1] + right) or _NUMBER.match(left + right[0]))


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_" or _is_mark(sign)


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign)[0] == "M"
