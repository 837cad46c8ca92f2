"""Words unusually frequent in a selection, compared with the whole archive."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nwx.engine.base import Engine
from nwx.engine.entries import url_words
from nwx.engine.work import current_work
from nwx.model import Collapse
from nwx.query.question import Question
from nwx.query.tree import Term

MOST_WORDS = 100
"""The most words that are listed."""

MOST_DOCUMENTS_READ = 1_000
"""So many documents of a selection are read: the best matches."""

_CANDIDATES = 300
_AT_ONCE = 100
_MOST_CHARACTERS = 200_000
_LEAST_DOCUMENTS = 2
_WORD = re.compile(r"(?=.{3,40}\Z)[^\W\d_]+(?:'[^\W\d_]+)*|[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class DistinctiveWord:
    """A word, with the number of its documents in the sample and in the archive.

    `score` is the log-likelihood ratio (Dunning 1993) of the two: the higher, the less likely is
    such a difference by chance (3.8: one time in 20, 10.8: in 1,000).
    """

    word: str
    documents: int
    archive_documents: int
    score: float


@dataclass(frozen=True, slots=True)
class DistinctiveWords:
    """The most distinctive words of a selection, highest score first.

    `read` of the `documents` of the selection were read; the archive has `archive_documents`.
    """

    documents: int
    read: int
    archive_documents: int
    words: tuple[DistinctiveWord, ...]


def distinctive_words(
    engine: Engine, question: Question, most: int = MOST_WORDS
) -> DistinctiveWords:
    """Return the words that more documents of a question have than the archive would let expect.

    The first thousand documents of the question are read. Words are as most documents write them,
    in lower case and without the stop words of their language; a word of URLs alone is not listed.
    Raises what searches raise.
    """
    # Imported here: counts of words need it, and no other question of the API.
    from nwx.engine.analyzer import tokens, written_words

    asked = replace(question, collapse=Collapse.NONE, facets=(), snippets=False, offset=0)
    every, found = engine.totals([Question(), asked])
    counts: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    read = 0
    for text, url, language in _texts(engine, asked, found):
        current_work().check()
        read += 1
        words_here = written_words(text[:_MOST_CHARACTERS], language)
        for word in filter(_WORD.fullmatch, words_here):
            written[word][words_here[word]] += 1
        counts.update({*filter(_WORD.fullmatch, words_here), *tokens(url)})
    for word in counts.keys() - written.keys():
        del counts[word]
    # Words that are frequent here come first: of rare ones chance tells nothing.
    likely = [pair for pair in counts.most_common(_CANDIDATES) if pair[1] >= _LEAST_DOCUMENTS]
    current_work().check()
    totals = engine.totals([Question(Term("", word)) for word, _ in likely])
    words = []
    for (word, here), total in zip(likely, totals, strict=True):
        score = log_likelihood(here, read, everywhere := max(here, total), every)
        if score > 0:
            form = max(written[word], key=lambda one: (written[word][one], one))
            words.append(DistinctiveWord(form, here, everywhere, round(score, 2)))
    words.sort(key=lambda one: (-one.score, one.word))
    return DistinctiveWords(found, read, every, tuple(words[:most]))


def log_likelihood(here: int, read: int, everywhere: int, every: int) -> float:
    """Return how much more frequent a word is in a selection than elsewhere, 0 if rarer.

    `here` of `read` documents of the selection contain it, and `everywhere` of `every` document.
    Twice the log-likelihood ratio of Dunning, "Accurate Methods for the Statistics of Surprise and
    Coincidence" (1993).
    """
    elsewhere, others = everywhere - here, max(every - read, 0)
    if not read or not others or here * others <= elsewhere * read:
        return 0.0
    rate = everywhere / (read + others)
    return 2 * (
        _part(here, read * rate)
        + _part(read - here, read * (1 - rate))
        + _part(elsewhere, others * rate)
        + _part(others - elsewhere, others * (1 - rate))
    )


def _part(seen: int, expected: float) -> float:
    return seen * math.log(seen / expected) if seen > 0 and expected > 0 else 0.0


def _texts(engine: Engine, question: Question, found: int) -> Iterator[tuple[str, str, str]]:
    """Give the texts of the first documents, the words of their URLs, and their languages."""
    for offset in range(0, min(found, MOST_DOCUMENTS_READ), _AT_ONCE):
        hits = engine.search(replace(question, offset=offset, limit=_AT_ONCE)).hits
        for document in engine.documents([hit.id for hit in hits]).values():
            extract = document.extract
            text = " ".join((extract.title, *extract.headings, extract.content))
            yield text, url_words(document.capture.url), extract.content_language


def sizes(words: Sequence[DistinctiveWord], steps: int) -> dict[str, int]:
    """Return the size of each word in a cloud, from 1 to `steps`, by the logarithm of its score."""
    if not words:
        return {}
    scores = {one.word: math.log1p(one.score) for one in words}
    low, high = min(scores.values()), max(scores.values())
    width = (high - low) or 1.0
    return {word: 1 + round((steps - 1) * (score - low) / width) for word, score in scores.items()}
