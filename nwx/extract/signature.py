"""A fold for near-identical texts, after the TextProfileSignature of Nutch and Solr.

The profile of a text is its frequent words with their counts made coarse;
short words do not count, nor does order, and digits part words. Pages that differ in a date,
a counter or a rotating advertisement keep their profile. Scripts written
without spaces are profiled by pairs of characters. A word is known by a
hash of its first eight bytes, taken of all words of a text at once by NumPy.
"""

import hashlib
import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_CHARACTERS = 100_000  # looked at
_SHORTEST = 50  # words
_SHORTEST_WORD = 4  # bytes that count: shorter ones are in all texts, and change with each edit
_FEWEST = 10  # entries of a profile
_COARSE = 0.01  # of the highest count is one step
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
# Over UTF-8: digits part words as punctuation does.
_APART = b"\t\n\x0b\x0c\r!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~0123456789"
_COARSER = bytes.maketrans(_APART, b" " * len(_APART))
_SPACE = ord(" ")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - 14)  # bits of a hash; more take longer to count, and find little more
# What leaves the first of eight bytes, by their number.
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)


def signature_of(content: str) -> str:
    """Return 16 hex digits that are equal for near-identical texts, "" for short ones."""
    text = content[:_CHARACTERS].lower()
    if not text.isascii():
        text = _UNSPACED.sub(_in_pairs, text)
    words, sizes = _words(text.encode().translate(_COARSER))
    if len(words) < _SHORTEST:
        return ""
    counts = np.bincount(
        (words[sizes >= _SHORTEST_WORD] * _FACTOR >> _SHIFT).astype(np.int64), minlength=1
    )
    step = max(round(int(counts.max()) * _COARSE), 2)
    hashes = np.flatnonzero(counts >= step)
    if len(hashes) < _FEWEST:
        return ""
    profile = hashes.astype("<u4").tobytes() + (counts[hashes] // step).astype("<u4").tobytes()
    return hashlib.blake2b(profile, digest_size=8).hexdigest()


def _in_pairs(run: re.Match[str]) -> str:
    """Return a run of an unspaced script as its pairs of characters."""
    return f" {' '.join(map(''.join, pairwise(run[0])))} "


def _words(text: bytes) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the first eight bytes of each word between spaces, and how many it has."""
    padded = b" %b        " % text
    is_space = np.frombuffer(padded, np.uint8) == _SPACE
    edges = np.flatnonzero(is_space[1:] != is_space[:-1])  # before each word, and at its last byte
    starts = edges[::2]
    sizes = edges[1::2] - starts
    eights = np.ndarray(len(text), "<u8", padded, 1, strides=(1,))[starts]
    return eights & _MASKS[np.minimum(sizes, 8)], sizes
