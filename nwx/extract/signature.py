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
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
# Over UTF-8: punctuation parts words, and a digit is as good as another.
_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_DIGITS = b"123456789"
_COARSER = bytes.maketrans(_PUNCTUATION + _DIGITS, b" " * len(_PUNCTUATION) + b"0" * len(_DIGITS))


def signature_of(content: str) -> str:
    """Return 16 hex digits that are equal for near-identical texts, "" for short ones."""
    text = content[:_CHARACTERS].lower()
    if not text.isascii():
        text = _UNSPACED.sub(_in_pairs, text)
    words = text.encode().translate(_COARSER).split()
    if len(words) < _SHORTEST:
        return ""
    counts = Counter(words)
    step = max(round(max(counts.values()) * _COARSE), 2)
    profile = sorted(
        (count // step, word)
        for word, count in counts.items()
        if count >= step and len(word) > 1 and b"0" not in word
    )
    if len(profile) < _FEWEST:
        return ""
    levels = b"\n".join(b"%s %d" % (word, level) for level, word in profile)
    return hashlib.blake2b(levels, digest_size=8).hexdigest()


def _in_pairs(run: re.Match[str]) -> str:
    """Return a run of an unspaced script as its pairs of characters."""
    return f" {' '.join(map(''.join, pairwise(run[0])))} "
