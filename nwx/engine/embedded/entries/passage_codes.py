"""Codes of vectors, so small that a search compares all of an archive in memory."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from nwx.engine.indices.vector_index import Vectors, cosines

Codes = npt.NDArray[np.uint8]
Signs = npt.NDArray[np.uint64]
PassageNumbers = npt.NDArray[np.int64]
Cosines = npt.NDArray[np.float32]
Counts = npt.NDArray[np.uint16]

_WHOLE = 128
"""Numbers of so short vectors have 8 bits, those of longer ones 4."""

_CANDIDATES = 1_536
_LONG = 256
"""Signs of shorter vectors tell less of them: more of these are candidates."""

_SHARE = 256
"""Of so many passages one is a candidate where there are many."""

_SAMPLED = 16
_WEIGHED = 4
_LARGE = 0.8


def code_bytes(dimensions: int) -> int:
    """Return the length of the code of a vector."""
    return dimensions if dimensions <= _WHOLE else -(-dimensions // 2)


def codes_of(vectors: Vectors) -> Codes:
    """Return the code of each vector: the upper bits of its numbers."""
    plain = np.ascontiguousarray(vectors).view(np.uint8)
    if vectors.shape[1] <= _WHOLE:
        return plain
    upper, lower = np.split(np.pad(plain, ((0, 0), (0, vectors.shape[1] % 2))), 2, axis=1)
    return np.asarray(upper & 0xF0 | lower >> 4, dtype=np.uint8)


def vectors_of(codes: Codes, dimensions: int) -> Vectors:
    """Return the vectors of codes; bits that they do not have are in the middle."""
    if dimensions <= _WHOLE:
        return codes.view(np.int8)
    numbers = np.concatenate([codes & 0xF0 | 8, codes << 4 | 8], axis=1)
    return numbers[:, :dimensions].view(np.int8)


def signs_of(codes: Codes, dimensions: int) -> Signs:
    """Return the signs of each vector's numbers as bits: a row for the first 64, and so on."""
    tops = (0x80,) if dimensions <= _WHOLE else (0x80, 0x08)
    packed = np.concatenate([np.packbits(codes & top, axis=1) for top in tops], axis=1)
    whole = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(whole.view(np.uint64).T)


def nearest_codes(
    vector: Vectors, codes: Codes, signs: Signs, most: int
) -> tuple[PassageNumbers, Cosines]:
    """Return the numbers and cosines of the codes nearest to a vector, the nearest first.

    Those with the most signs in common are compared.
    """
    few = _CANDIDATES * max(_LONG // len(vector), 1) ** 2
    wanted = max(few, len(codes) // _SHARE, 2 * most)
    is_few = len(codes) <= wanted
    numbers = np.arange(len(codes)) if is_few else _candidates(vector, signs, wanted)
    scores = cosines(vector, vectors_of(codes[numbers], len(vector)))
    first = np.argsort(-scores, kind="stable")[:most]
    return numbers[first], scores[first]


def _candidates(vector: Vectors, signs: Signs, wanted: int) -> PassageNumbers:
    """Return about the numbers whose signs differ the least, in order.

    First only the larger numbers of the vector count: small ones change little, whatever their
    sign. Of those that differ little, all are weighed.
    """
    sizes = np.abs(vector.astype(np.int16))
    large = sizes >= _LARGE * np.sqrt(np.mean(sizes * sizes.astype(np.int32)))
    masks = [vector < 0, large, *(sizes & weight > 0 for weight in (64, 32, 16))]
    own, counted, *weighed = signs_of(codes_of(-np.stack(masks).astype(np.int8)), len(vector)).T
    numbers = _least(_differing(signs, own, [counted]), _WEIGHED * wanted)
    few = np.ascontiguousarray(signs[:, numbers])
    return np.sort(numbers[_least(_differing(few, own, weighed), wanted)])


def _differing(signs: Signs, own: Signs, masks: Sequence[Signs]) -> Counts:
    """Return how many signs differ in the last mask, and twice those in the one before, …"""
    differing = np.zeros(signs.shape[1], dtype=np.uint16)
    for counted in masks:
        differing <<= 1
        for word, one, mask in zip(signs, own, counted, strict=True):
            differing += np.bitwise_count((word ^ one) & mask)
    return differing


def _least(counts: Counts, most: int) -> PassageNumbers:
    """Return about the numbers of the least counts; of equal ones the first."""
    if len(counts) <= most:
        return np.arange(len(counts))
    place = most // _SAMPLED
    limit = np.partition(counts[::_SAMPLED], place)[place]
    less = np.flatnonzero(counts < limit)
    return np.append(less, np.flatnonzero(counts == limit)[: max(most - len(less), 0)])
