"""A fold for near-identical texts, after the TextProfileSignature of Nutch and Solr.

The profile of a text is its frequent words with their counts made coarse;
words with digits do not count, nor does order. Pages that differ in a date,
a counter or a rotating advertisement keep their profile. Scripts written
without spaces are profiled by pairs of characters.
"""

import hashlib
import re
from collections import Counter
from itertools import pairwise

_CHARACTERS = 100_000  # looked at
_SHORTEST = 50  # words
_FEWEST = 10  # entries of a profile
_COARSE = 0.01  # of the highest count is one step
_DIGIT = re.compile(r"\d")
_PUNCTUATION = ".,;:!?()[]{}<>\"'`|/\\*-–—…«»„“”‘’‹›·•،؛؟।"
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)


def signature_of(content: str) -> str:
    """Return 16 hex digits that are equal for near-identical texts, "" for short ones."""
    tokens = _tokens(content[:_CHARACTERS].lower())
    if len(tokens) < _SHORTEST:
        return ""
    counts: dict[str, int] = {}
    for token, count in Counter(tokens).items():
        word = token.strip(_PUNCTUATION)
        counts[word] = counts.get(word, 0) + count
    step = max(round(max(counts.values()) * _COARSE), 2)
    profile = sorted(
        (count // step, word)
        for word, count in counts.items()
        if count >= step and len(word) > 1 and not _DIGIT.search(word)
    )
    if len(profile) < _FEWEST:
        return ""
    text = "\n".join(f"{word} {level}" for level, word in profile)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _tokens(text: str) -> list[str]:
    """Return the words of a text; runs of an unspaced script fall into pairs of characters."""
    if text.isascii() or not _UNSPACED.search(text):
        return text.split()
    pairs: list[str] = []
    for run in _UNSPACED.findall(text):
        pairs += map("".join, pairwise(run))
    return _UNSPACED.sub(" ", text).split() + pairs
