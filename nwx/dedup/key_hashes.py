"""Capture keys as 128-bit numbers, computed for a block of lines at once.

Multilinear hashing (Lemire and Kaser, "Strongly universal string hashing is fast"): two different
keys get the same number with probability 2**-128 over the random coefficients. These are drawn for
each run, so that nobody can craft pages whose keys collide.
"""

import struct
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from operator import mul

import numpy as np
from numpy.typing import NDArray

from nwx.cdx.columns import Bytes, CdxColumns, Integers, load_columns
from nwx.dedup.policies import Key
from nwx.errors import DigestError, UrlError
from nwx.values.digests import normal_digest
from nwx.values.urlkeys import urlkey
from nwx.values.urls import decoded_url

Words = NDArray[np.uint64]

_WIDTHS = (64, 128, 256, 1024)
_KINDS = np.searchsorted(_WIDTHS, np.arange(_WIDTHS[-1] + 2)).astype(np.uint8)
_LONG_BYTES = 64
_DIGEST_BYTES = 32
_LANES = 4
_MIX_SHIFT = np.uint64(29)
_HALF = np.uint64(32)
_UPPER = np.uint64(0xFFFFFFFF00000000)
_PREFIX = np.frombuffer(b"sha1:", np.uint8)


class KeyHash:
    """A hash function of keys; two with the same seed are equal."""

    def __init__(self, key: Key, seed: int) -> None:
        self._key = key
        random = np.random.default_rng(seed)
        sizes = (*_WIDTHS, _LONG_BYTES)
        self._factors = [_draw(random, size // 4) for size in sizes]
        self._offsets = [_draw(random, 1) for _ in sizes]
        self._digest_factors = _draw(random, _DIGEST_BYTES // 4)
        self._time_factors = _draw(random, 2)
        self._mixer = random.integers(1 << 62, 1 << 63, dtype=np.uint64) * np.uint64(2) + np.uint64(
            1
        )
        self._lanes = cache(self._lanes_of)

    def of_key(self, columns: CdxColumns) -> tuple[Words, Words]:
        """Return both halves of the 128-bit number of each line's key."""
        sums = _words(_digests(columns)) @ self._digest_factors
        match self._key:
            case Key.URL_DIGEST:
                sums += self._texts(*_urls(columns))
            case Key.URLKEY_DIGEST:
                sums += self._texts(*_urlkeys(columns))
        return _halves(sums)

    def of_url(self, columns: CdxColumns) -> Words:
        """Return a 64-bit number for each line's URL, or urlkey if it is part of the key.

        Faster than `of_key`, but different URLs only nearly always get different numbers.
        """
        if self._key is Key.URLKEY_DIGEST:
            return self._mix(*_urlkeys(columns))
        return self._mix(*_urls(columns))

    def of_line(self, columns: CdxColumns) -> Words:
        """Return a 64-bit number, seldom 0, for the URL and timestamp of each line.

        For lines with the same digest, equal numbers mean the same list line.
        """
        urls = self._mix(*_urls(columns))
        return (urls + columns.timestamp.astype(np.uint64)) * self._mixer

    def _mix(self, data: bytes, starts: Integers, lengths: Integers) -> Words:
        mixed = np.empty(len(starts), np.uint64)
        for kind, rows in _by_kind(lengths):
            mixed[rows] = _mixed(_content(data, starts[rows], lengths[rows], kind), self._mixer)
        return mixed

    def with_url(self, mixed: Words, columns: CdxColumns) -> tuple[Words, Words]:
        """Return both halves of a number per line, from its digest and the result of `of_url`.

        Good enough for lines that are compared only with the few lines of their own run.
        """
        first, second = _halves(_words(_digests(columns)) @ self._digest_factors)
        return first ^ mixed, second

    def with_timestamps(self, columns: CdxColumns) -> tuple[Words, Words]:
        """Return both halves of a number for each line's URL, digest and timestamp."""
        sums = _words(_digests(columns)) @ self._digest_factors
        sums += self._texts(*_urls(columns))
        sums += _words(columns.timestamp.view(np.uint8).reshape(-1, 8)) @ self._time_factors
        return _halves(sums)

    def of_capture(self, url: bytes, digest: bytes, timestamp: int) -> tuple[int, int]:
        """Return the result of `with_timestamps` for one capture."""
        kind = int(_KINDS[min(len(url), len(_KINDS) - 1)])
        text = url.ljust(_WIDTHS[kind], b"\0") if kind < len(_WIDTHS) else blake2b(url).digest()
        content = text + canonical_digest(digest) + timestamp.to_bytes(8, "little")
        words = struct.unpack(f"<{len(content) // 4}I", content)
        first, second, third, fourth = (
            offset + sum(map(mul, words, factors)) for offset, factors in self._lanes(kind)
        )
        return _joined(first, second), _joined(third, fourth)

    def _lanes_of(self, kind: int) -> list[tuple[int, list[int]]]:
        factors = (self._factors[kind], self._digest_factors, self._time_factors)
        by_lane = np.concatenate(factors).T.tolist()
        return list(zip(self._offsets[kind][0].tolist(), by_lane, strict=True))

    def _texts(self, data: bytes, starts: Integers, lengths: Integers) -> Words:
        sums = np.empty((len(starts), _LANES), np.uint64)
        for kind, rows in _by_kind(lengths):
            content = _content(data, starts[rows], lengths[rows], kind)
            sums[rows] = _words(content) @ self._factors[kind] + self._offsets[kind]
        return sums


def _by_kind(lengths: Integers) -> Iterator[tuple[int, Integers | slice]]:
    """Yield the kinds of texts by padded width, each with the rows of its texts."""
    kinds = _KINDS[np.minimum(lengths, len(_KINDS) - 1)]
    found = np.flatnonzero(np.bincount(kinds)).tolist()
    for kind in found:
        yield kind, slice(None) if len(found) == 1 else np.flatnonzero(kinds == kind)


def _mixed(content: Bytes, factor: np.uint64) -> Words:
    words = content.view("<u8")
    mixed: Words = words[:, 0] * factor
    for column in range(1, words.shape[1]):
        mixed ^= mixed >> _MIX_SHIFT
        mixed += words[:, column]
        mixed *= factor
    return mixed ^ mixed >> _MIX_SHIFT


def _content(data: bytes, starts: Integers, lengths: Integers, kind: int) -> Bytes:
    if kind < len(_WIDTHS):
        return _padded(data, starts, lengths, _WIDTHS[kind])
    return _shortened(data, starts, lengths)


def _halves(sums: Words) -> tuple[Words, Words]:
    """Return the upper 32 bits of four sums as two numbers; only these bits are universal."""
    upper = sums & _UPPER
    lower = sums >> _HALF
    return upper[:, 0] | lower[:, 1], upper[:, 2] | lower[:, 3]


def _joined(upper: int, lower: int) -> int:
    return upper & 0xFFFFFFFF00000000 | lower >> 32 & 0xFFFFFFFF


def _draw(random: np.random.Generator, words: int) -> Words:
    return random.integers(0, 1 << 64, (words, _LANES), np.uint64)


def _words(content: Bytes) -> Words:
    return content.view("<u4").astype(np.uint64)


def _padded(data: bytes, starts: Integers, lengths: Integers, width: int) -> Bytes:
    content = load_columns(data, starts, width)
    content *= np.arange(width, dtype=np.uint16) < lengths.astype(np.uint16)[:, None]
    return content


def _shortened(data: bytes, starts: Integers, lengths: Integers) -> Bytes:
    texts = zip(starts.tolist(), lengths.tolist(), strict=True)
    hashes = [blake2b(data[start : start + length]).digest() for start, length in texts]
    return np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, _LONG_BYTES)


def _urls(columns: CdxColumns) -> tuple[bytes, Integers, Integers]:
    """Return the bytes that contain the URLs, and the start and length of each URL.

    URLs are UTF-8, as in captures; other bytes are decoded as in the record reader
    (`nwx.values.urls.decoded_url`).
    """
    data = columns.data
    if data.isascii() or _is_utf8(data):
        return data, columns.starts("a"), columns.lengths("a")
    return _laid_out([decoded_url(url).encode() for url in columns.texts("a")])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _laid_out(texts: list[bytes]) -> tuple[bytes, Integers, Integers]:
    """Return texts concatenated and padded, and the start and length of each."""
    lengths = np.array([len(text) for text in texts], np.int64)
    return b"".join((*texts, bytes(_WIDTHS[-1]))), np.cumsum(lengths) - lengths, lengths


def _urlkeys(columns: CdxColumns) -> tuple[bytes, Integers, Integers]:
    """Return the bytes that contain the urlkeys, and the start and length of each urlkey.

    Missing urlkeys are computed from the URL; an invalid URL is used unchanged.
    """
    missing = columns.is_missing("NA")
    if not missing.any():
        return columns.data, columns.starts("NA"), columns.lengths("NA")
    keys = columns.texts("NA") if columns.has("NA") else [b""] * len(columns)
    for row, url in zip(np.flatnonzero(missing).tolist(), columns.texts("a", missing), strict=True):
        try:
            keys[row] = urlkey(decoded_url(url)).encode()
        except UrlError:
            keys[row] = url
    return _laid_out(keys)


def _digests(columns: CdxColumns) -> Bytes:
    """Return 32 bytes for each digest, equal for all spellings of one value."""
    starts, lengths = columns.starts("kc"), columns.lengths("kc")
    named = lengths == len(_PREFIX) + _DIGEST_BYTES
    if named.any():
        named &= (load_columns(columns.data, starts, len(_PREFIX)) == _PREFIX).all(axis=1)
        starts = starts + len(_PREFIX) * named
    content = load_columns(columns.data, starts, _DIGEST_BYTES)
    odd = ~(named | (lengths == _DIGEST_BYTES))
    base32 = (content - np.uint8(ord("A")) < 26) | (content - np.uint8(ord("2")) < 6)
    if not base32.all() or odd.any():
        odd |= ~base32.all(axis=1)
        spelled = b"".join(map(canonical_digest, columns.texts("kc", odd)))
        content[odd] = np.frombuffer(spelled, np.uint8).reshape(-1, _DIGEST_BYTES)
    return content


@lru_cache(maxsize=1 << 16)
def canonical_digest(digest: bytes) -> bytes:
    """Return 32 bytes common to all spellings of a digest.

    For SHA-1 they are its base32 characters, for others a hash. Unknown digests are hashed as they
    are.
    """
    try:
        normal = normal_digest(digest.decode("ascii")).encode()
    except (DigestError, UnicodeDecodeError):
        normal = b"? " + digest
    if normal.startswith(b"sha1:"):
        return normal[5:]
    return blake2b(normal, digest_size=_DIGEST_BYTES).digest()
