"""Keywords from example documents: the words that distinguish them from the archive."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import tomli_w

from nwx.captures import is_page
from nwx.engine.base import Engine
from nwx.errors import ErrorText, NoArchiveError, SourceError, SpecificationError, UrlError
from nwx.extract.charset import decode
from nwx.extract.text import language_of, prose
from nwx.model import ReadError
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics, term_statistics
from nwx.steering.analysis.page_view import LIMITS, PageView, page_view
from nwx.steering.pages import StoredPages
from nwx.steering.specifications.file_values import SpecificationProblem
from nwx.steering.specifications.specification import CrawlSpecification, Keyword
from nwx.steering.specifications.specification_files import read_specification, read_values
from nwx.values.urlkeys import urlkey
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import expand, is_archive_name

_MOST_WORDS = 15
_CANDIDATES = 300
_RELEVANT = 0.4  # of the median score of the examples
_MOST_PAGES = 100  # of an archive file
_WORD = re.compile(r"[^\W\d_]{3,40}")
_HTML = (".html", ".htm", ".xhtml")


def example_views(
    engine: Engine, specification: CrawlSpecification, place: str, *, files: bool
) -> Iterator[PageView]:
    """Yield the example documents of a specification: captures of URLs, and files if `files`.

    Raises SpecificationError on one that is not archived or cannot be read.
    """
    for number, name in enumerate(specification.like, 1):
        is_url, found = "://" in name, 0
        try:
            for view in _captured(engine, name) if is_url else _in_file(name) if files else ():
                found += 1
                yield view
        except (OSError, SourceError, UrlError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            why = ErrorText("%(path)s cannot be read (%(reason)s)", path=name, reason=reason)
            raise _problem(place, number, why) from error
        if not found:
            why = ErrorText("%(name)s is neither a captured page nor a file with one", name=name)
            raise _problem(place, number, why)


def _problem(place: str, number: int, why: ErrorText) -> SpecificationError:
    return SpecificationError(place, [SpecificationProblem(f"like[{number}]", why)])


def _captured(engine: Engine, url: str) -> Iterator[PageView]:
    pages = [capture for capture in engine.captures(urlkey(url)) if is_page(capture)]
    if pages and (view := StoredPages(engine).view(pages[-1], pages[-1].timestamp)):
        yield view


def _in_file(name: str) -> Iterator[PageView]:
    if is_archive_name(name):
        yield from islice(_archived(name), _MOST_PAGES)
        return
    with Path(name).open("rb") as file:
        data = file.read(LIMITS.bytes)
    if name.lower().endswith(_HTML):
        yield page_view(data, "http://example.invalid/", "")
    elif text := decode(data)[: LIMITS.characters].strip():
        yield PageView(name, "", content=text, language=language_of(prose(text)))


def _archived(name: str) -> Iterator[PageView]:
    for source in expand([name]):
        if isinstance(source, ReadError):
            raise SourceError(source.message)
        for item in ArchiveReader(source, ""):
            if isinstance(item, CaptureRecord) and is_page(item.capture) and item.kept:
                payload, capture = item.payload(), item.capture
                yield page_view(payload.data, capture.url, capture.timestamp, payload.charset)


def completed_text(
    engine: Engine, text: str, place: str, like: Sequence[str], *, files: bool
) -> str:
    """Return the text of a specification with the words of its examples, as `like_words`.

    `like` are additional examples. Without them, existing words are kept. The words of an equal
    specification in the archive are reused. Without thresholds, it gets one by the scores of the
    examples. Raises SpecificationError on an invalid text or example.
    """
    values = dict(read_values(text, place))
    if like:
        values = {name: one for name, one in values.items() if name != "like_words"}
        values["like"] = list(dict.fromkeys((*values.get("like", ()), *like)))
        text = _written(values, text)
    if "like_words" in values or not values.get("like"):
        return text
    specification = read_specification(text, place)
    last = engine.crawl_index().specification(specification.name)
    if last is not None and _is_with_words(values, last.text):
        return last.text
    views = list(example_views(engine, specification, place, files=files))
    words = distinctive_keywords(engine, specification, views)
    if not words:
        raise _problem(place, 1, ErrorText("has no words that distinguish it from the archive"))
    added: dict[str, Any] = {
        "like_words": [{"text": one.text, "weight": one.weight} for one in words]
    }
    if "thresholds" not in values:
        specification = replace(specification, like_words=tuple(words))
        added["thresholds"] = {"relevant": _threshold(engine, specification, views)}
    if text.lstrip().startswith("{"):
        return _written(values | added, text)
    return f"{text.rstrip()}\n{''.join(_toml_tables(added))}"


def _written(values: dict[str, Any], text: str) -> str:
    if text.lstrip().startswith("{"):
        return json.dumps(values, ensure_ascii=False, indent=2) + "\n"
    return tomli_w.dumps(values)


def _toml_tables(added: dict[str, Any]) -> Iterator[str]:
    """Yield tables that can follow any TOML text."""
    for word in added["like_words"]:
        yield f"\n[[like_words]]\n{tomli_w.dumps(word)}"
    if "thresholds" in added:
        yield f"\n[thresholds]\n{tomli_w.dumps(added['thresholds'])}"


def _is_with_words(values: dict[str, Any], stored: str) -> bool:
    """Return whether a saved text has the same values plus the words of examples."""
    found = read_values(stored)
    added = found.keys() - values.keys()
    is_same = {name: one for name, one in found.items() if name not in added} == values
    return is_same and "like_words" in added and added <= {"like_words", "thresholds"}


def _threshold(
    engine: Engine, specification: CrawlSpecification, views: Sequence[PageView]
) -> float:
    analyzer = Analyzer(specification, _statistics(engine, specification))
    scores = [analyzer.analyse(view, "").score for view in views]
    return round(max(specification.thresholds.relevant, _RELEVANT * median(scores)), 2)


def distinctive_keywords(
    engine: Engine, specification: CrawlSpecification, views: Sequence[PageView]
) -> list[Keyword]:
    """Return the words unusually frequent in pages compared with the archive, best first.

    Words of highest tf-idf are chosen; the weight is the tf, averaged over the pages, relative to
    the highest. With several pages, a word must be on at least two.
    """
    analyzer = Analyzer(CrawlSpecification(""), TermStatistics())
    frequency: defaultdict[str, float] = defaultdict(float)
    pages: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for view in views:
        reading = analyzer.read(view)
        pairs = [
            (lemma, word)
            for lemma, word in zip(reading.lemmas, reading.pieces[1::2], strict=True)
            if lemma not in reading.closed and _WORD.fullmatch(word)
        ]
        for lemma, word in pairs:
            written[lemma][word.lower()] += 1
        for lemma, count in Counter(lemma for lemma, _ in pairs).items():
            frequency[lemma] += (1 + math.log(count)) / len(views)
            pages[lemma] += 1
    known = {keyword.text.casefold() for keyword in specification.keywords}
    words = {
        word: weight
        for lemma, weight in nlargest(_CANDIDATES, frequency.items(), key=itemgetter(1))
        if pages[lemma] >= min(2, len(views))
        and (word := max(written[lemma], key=lambda one: (written[lemma][one], one))) not in known
    }
    candidates = tuple(Keyword(word) for word in words)
    statistics = _statistics(
        engine, CrawlSpecification("", keywords=candidates, collection=specification.collection)
    )
    rarities = dict(zip(words, statistics.rarities(list(words)), strict=True))
    best = sorted(words, key=lambda word: -words[word] * rarities[word])[:_MOST_WORDS]
    most = max((words[word] for word in best), default=1.0)
    return [Keyword(word, round(max(0.01, words[word] / most), 2)) for word in best]


def _statistics(engine: Engine, specification: CrawlSpecification) -> TermStatistics:
    """Return the frequencies of terms, none if the archive does not exist yet."""
    try:
        return term_statistics(engine, specification)
    except NoArchiveError:
        return TermStatistics()
