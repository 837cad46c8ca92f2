"""A fold for near-identical texts, after the TextProfileSignature of Nutch and Solr.

The profile of a text is its frequent words with their counts made coarse;
words with digits do not count, nor does order. Pages that differ in a date,
a counter or a rotating advertisement keep their profile. Scripts written
without spaces are profiled by pairs of characters. A word is known by a
hash of 64 bits, taken of all words of a text at once by NumPy.
"""

import hashlib
import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_CHARACTERS = 100_000  # looked at
_SHORTEST = 50  # words
_FEWEST = 10  # entries of a profile
_COARSE = 0.01  # of the highest count is one step
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
# Over UTF-8: punctuation parts words, and a digit is as good as another.
_APART = b"\t\n\x0b\x0c\r!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_DIGITS = b"123456789"
_COARSER = bytes.maketrans(_APART + _DIGITS, b" " * len(_APART) + b"0" * len(_DIGITS))
_SPACE, _DIGIT = b" 0"
_PADDING = b" " * 8
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_EVEN = np.uint64(0xFFFFFFFFFFFFFFFE)
# What leaves the first, or the last, of eight bytes, by their number.
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_SHIFTS = np.array([64 - 8 * size for size in range(9)], np.uint64)


def signature_of(content: str) -> str:
    """Return 16 hex digits that are equal for near-identical texts, "" for short ones."""
    text = content[:_CHARACTERS].lower()
    if not text.isascii():
        text = _UNSPACED.sub(_in_pairs, text)
    hashes = _word_hashes(text.encode().translate(_COARSER))
    if len(hashes) < _SHORTEST:
        return ""
    words, counts = _counted(hashes)
    step = max(round(int(counts.max()) * _COARSE), 2)
    kept = (counts >= step) & (words & ~_EVEN == 0)
    words, levels = words[kept], counts[kept] // step
    if len(words) < _FEWEST:
        return ""
    profile = words.astype("<u8").tobytes() + levels.astype("<u8").tobytes()
    return hashlib.blake2b(profile, digest_size=8).hexdigest()


def _in_pairs(run: re.Match[str]) -> str:
    """Return a run of an unspaced script as its pairs of characters."""
    return f" {' '.join(map(''.join, pairwise(run[0])))} "


def _word_hashes(text: bytes) -> NDArray[np.uint64]:
    """Return a hash of each word between spaces, odd where it is one character or has a digit.

    The first eight bytes of a word count, its last eight, and its length.
    """
    padded = b"%b%b%b" % (_PADDING, text, _PADDING)
    data = np.frombuffer(padded, np.uint8)
    eights = np.ndarray(len(padded) - 7, "<u8", padded, strides=(1,))
    is_space = data == _SPACE
    edges = np.flatnonzero(is_space[1:] != is_space[:-1])  # before each word, and at its last byte
    before, last = edges[::2], edges[1::2]
    sizes = last - before
    near = np.minimum(sizes, 8)
    first_bytes = eights[before + 1] & _MASKS[near]
    last_bytes = eights[last - 7] >> _SHIFTS[near]
    hashes: NDArray[np.uint64] = first_bytes * _PRIME ^ last_bytes
    hashes = hashes + sizes.astype(np.uint64) << np.uint64(1)
    no_words = sizes == 1
    no_words[np.searchsorted(last, np.flatnonzero(data == _DIGIT))] = True
    hashes |= no_words
    return hashes


def _counted(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return distinct hashes in order, and how often each occurs."""
    hashes = np.sort(hashes, kind="stable")  # faster here than the default
    ends = np.append(np.flatnonzero(hashes[1:] != hashes[:-1]), len(hashes) - 1)
    counts = np.append(ends[:1] + 1, ends[1:] - ends[:-1])
    return hashes[ends], counts
