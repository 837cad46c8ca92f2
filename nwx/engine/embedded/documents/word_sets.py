"""Bit sets of documents for words and combined words, and terms checked one by one."""

import json
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache
from tantivy import Occur, Query

from nwx.data_classes import dataclass
from nwx.engine.analyzer import query_tokens, tokens
from nwx.engine.document_index import current_work
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.tantivy_index import (
    VALUES_APART,
    WORDS,
    DocumentSearcher,
    schema,
)
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.tree import All, Bool, Boost, Node, Phrase, Term, leaves
from nwx.query.words import most_edits, nearest_words, stand_near

Bits = npt.NDArray[np.uint64]
"""A set of document numbers, 64 bits in each element."""

_KEPT_BYTES = 64_000_000
_ASKED = 10_000
_MOST_CHANGED = 0.25
"""If a larger share of the documents has changed, sets are read again."""


def bits_of(nums: Ints, size: int) -> Bits:
    """Return a set of numbers below `size` as bits."""
    there = np.zeros(-(-size // 64) * 64, dtype=bool)
    there[nums] = True
    return np.packbits(there, bitorder="little").view(np.uint64)


def numbers_of(bits: Bits) -> Ints:
    """Return the numbers of a set, in order."""
    # flatnonzero is several times as fast on bools as on numbers.
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little").view(np.bool_))


@dataclass(frozen=True, slots=True)
class ChangedNumbers:
    """The documents written since a moment: all from the number `since` on, and `replaced`."""

    since: int
    replaced: Ints

    def with_later(self, changed: Ints) -> "ChangedNumbers":
        """Return these changes plus the numbers written after them."""
        return ChangedNumbers(self.since, np.union1d(self.replaced, changed[changed < self.since]))


@dataclass(frozen=True, slots=True)
class _WordSet:
    bits: Bits
    is_current: bool = True


class WordSets:
    """The requested sets of words, cached up to _KEPT_BYTES; thread-safe.

    `read` returns the numbers of the documents that have a word.
    """

    def __init__(self, read: Callable[[str], Ints], everything: Ints, size: int) -> None:
        self._read = read
        self._size = size
        self._everything = everything
        self._kept: LRUCache[str, _WordSet] = LRUCache(
            _KEPT_BYTES, getsizeof=lambda kept: kept.bits.nbytes
        )
        self._asked: LRUCache[str, None] = LRUCache(_ASKED)
        self._stored: Mapping[str, Bits] = {}
        self._changes = ChangedNumbers(size, np.zeros(0, dtype=np.int64))
        self._read_changed: Callable[[str, ChangedNumbers], Ints] | None = None
        self._guard = threading.Lock()

    def take_stored(
        self,
        stored: Mapping[str, Bits],
        changes: ChangedNumbers,
        read_changed: Callable[[str, ChangedNumbers], Ints],
    ) -> None:
        """Use stored sets of the moment since which `changes` were written.

        They are not copied to the cache; `read_changed` is as in `take_earlier`.
        """
        if not self._are_too_many(changes):
            self._stored, self._changes, self._read_changed = stored, changes, read_changed

    def _are_too_many(self, changes: ChangedNumbers) -> bool:
        number = self._size - changes.since + len(changes.replaced)
        return number > _MOST_CHANGED * self._size or self._size < changes.since

    def take_earlier(
        self,
        before: "WordSets",
        changed: Ints,
        read_changed: Callable[[str, ChangedNumbers], Ints],
    ) -> None:
        """Reuse the sets of an earlier moment; `changed` were written since, and none deleted.

        `read_changed` returns the changed numbers that have a word: the rest of a set stays
        unchanged.
        """
        changes = before._changes.with_later(changed)
        if self._are_too_many(changes) or self._size < before._size:
            return
        self._stored, self._changes, self._read_changed = before._stored, changes, read_changed
        with before._guard:
            self._asked.update(before._asked)
            for word, kept in before._kept.items():
                self._kept[word] = _WordSet(kept.bits, is_current=False)

    def has(self, words: Collection[str]) -> bool:
        """Return whether the sets of all these words are cached or stored."""
        with self._guard:
            return all(word in self._kept or word in self._stored for word in words)

    def are_worth_reading(self, words: Collection[str]) -> bool:
        """Return whether to read the missing sets: only one, or all requested before.

        One set takes as long to read as the result itself.
        """
        with self._guard:
            missing = [
                word for word in words if word not in self._kept and word not in self._stored
            ]
            new = [word for word in missing if word not in self._asked]
            self._asked.update(dict.fromkeys(new))
        return len(missing) == 1 or not new

    def matching(self, node: Node) -> Ints:
        """Return the numbers of the documents of a tree of words (`words_in`), in order."""
        return numbers_of(self._combined(node))

    def _combined(self, node: Node) -> Bits:
        match node:
            case Boost():
                return self._combined(node.node)
            case Bool():
                return self._bool(node)
            case Term() | Phrase():
                return self._word(query_tokens(node.text)[0])
        return bits_of(self._everything, self._size)

    def _bool(self, node: Bool) -> Bits:
        if node.must:
            found = self._combined(node.must[0]).copy()
            for part in node.must[1:]:
                found &= self._combined(part)
        elif node.should:
            every = self._combined(All())
            reached = [every, *(np.zeros_like(every) for _ in range(node.least))]
            for bits in map(self._combined, node.should):
                for count in range(node.least, 0, -1):
                    reached[count] |= reached[count - 1] & bits
            found = reached[-1]
        else:
            found = self._combined(All())
        for part in node.must_not:
            found &= ~self._combined(part)
        return found

    def _word(self, word: str) -> Bits:
        with self._guard:
            kept = self._kept.get(word)
        if kept is None and word in self._stored:
            kept = _WordSet(self._stored[word], is_current=self._nothing_changed)
        if kept is not None and kept.is_current:
            return kept.bits
        if kept is not None and self._read_changed is not None:
            found = bits_of(self._read_changed(word, self._changes), self._size)
            bits = self._unchanged(kept.bits) | (found & self._changed_bits)
        else:
            bits = bits_of(self._read(word), self._size)
        if bits.nbytes <= _KEPT_BYTES:
            with self._guard:
                self._kept[word] = _WordSet(bits)
        return bits

    def bits(self, word: str) -> Bits:
        """Return the set of a word."""
        return self._word(word)

    @property
    def _nothing_changed(self) -> bool:
        return self._changes.since == self._size and not len(self._changes.replaced)

    @cached_property
    def _changed_bits(self) -> Bits:
        new = np.arange(self._changes.since, self._size)
        return bits_of(np.concatenate([self._changes.replaced, new]), self._size)

    def _unchanged(self, bits: Bits) -> Bits:
        """Return a set of an earlier moment without the documents written since."""
        left = np.zeros_like(self._changed_bits)
        left[: len(bits)] = bits
        return left & ~self._changed_bits


def words_in(node: Node) -> frozenset[str] | None:
    """Return the words of a tree, None if it has anything but single words in default fields."""
    found: set[str] = set()
    for leaf in leaves(node):
        if not isinstance(leaf, Term | Phrase) or leaf.field:
            return None
        here = query_tokens(leaf.text)
        if len(here) != 1:
            return None
        found.update(here)
    return frozenset(found)


LEAST_DOCUMENTS = 100_000
"""Archives with fewer documents store no word sets, as these are read quickly."""

MOST_SETS = 400

FREQUENT = 0.08
"""The share of documents that must have a word for its set to be stored; others read fast."""

_NAMES, _BITS = "words.names", "words.bits"
MOMENT = "words.moment"
"""The array that is present if sets are stored."""


@dataclass(frozen=True, slots=True)
class StoredSets:
    """Sets of words of one moment.

    `size` was then the first unassigned document number, `seq` the last row of documents in the
    database.
    """

    sets: Mapping[str, Bits]
    size: int
    seq: int

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store."""
        names = np.frombuffer(json.dumps(list(self.sets)).encode(), np.uint8)
        bits = np.concatenate([np.zeros(0, dtype=np.uint64), *self.sets.values()])
        moment = np.array([self.size, self.seq], dtype=np.int64)
        return {_NAMES: names, _BITS: bits, MOMENT: moment}


def stored_sets(arrays: Mapping[str, npt.NDArray[Any]]) -> StoredSets | None:
    """Return the sets stored in arrays, None if there are none."""
    if MOMENT not in arrays:
        return None
    names = json.loads(arrays[_NAMES].tobytes())
    size, seq = arrays[MOMENT].tolist()
    every = np.split(arrays[_BITS], len(names)) if names else []
    return StoredSets(dict(zip(names, every, strict=True)), size, seq)


_CHECKED = 10_000
"""The number of terms after which the deadline is checked."""

_MOST_COMPARED = 50_000


class Terms:
    """The terms of an index, as used by one question.

    Each list is built once: the terms of all default fields are in one list.
    """

    def __init__(self, searcher: DocumentSearcher) -> None:
        self._searcher = searcher
        self._found: dict[Hashable, list[str]] = {}

    def fitting(
        self, field: str, beginning: str, fits: Callable[[str], bool], key: Hashable
    ) -> list[str]:
        """Return terms that begin with a text and fit, including all such terms of `field`.

        `key` identifies the prefix and the condition. Raises QueryError if too many terms would
        have to be checked.
        """
        field = WORDS if field in DEFAULT_FIELDS else field
        if (field, key) not in self._found:
            terms = self._beginning(field, beginning)
            self._found[field, key] = _fitting(terms, fits)
        return self._found[field, key]

    def _beginning(self, field: str, beginning: str) -> list[str]:
        work = current_work()
        most = work.terms_left() + 1
        found = self._searcher.terms_with_prefix(field, beginning, limit=most)
        work.visit_terms(len(found))
        return [term for term, _ in found]


def _fitting(terms: list[str], fits: Callable[[str], bool]) -> list[str]:
    work = current_work()
    found: list[str] = []
    for start in range(0, len(terms), _CHECKED):
        work.check()
        found += filter(fits, terms[start : start + _CHECKED])
    return found


def similar_words(searcher: DocumentSearcher, word: str, most: int) -> list[str]:
    """Return similar words, as `Engine.similar_words` does.

    Compares the 50,000 most frequent words with the same first letter.
    """
    found = tokens(word)
    if len(found) != 1 or not most_edits(found[0]):
        return []
    current_work().check()
    terms = searcher.terms_with_prefix(WORDS, found[0][0], limit=_MOST_COMPARED)
    return nearest_words(found[0], terms, most)


def is_plain(words: Sequence[str], slop: int) -> bool:
    """Return whether tantivy interprets the phrase as Lucene does."""
    return not slop or (len(words) == 2 and words[0] != words[1])


def near_candidates(field: str, words: Sequence[str], slop: int) -> Query:
    """Return the query for documents that may have words near each other, scored by word."""
    parts = [Query.term_query(schema(), field, word) for word in dict.fromkeys(words)]
    pairs = pairwise(words)
    parts += [
        Query.const_score_query(Query.phrase_query(schema(), field, [one, other], slop), 0.0)
        for one, other in pairs
        if one != other
    ]
    return Query.boolean_query([(Occur.Must, part) for part in parts])


def are_near(words: Sequence[str], texts: Sequence[str], slop: int) -> bool:
    """Return whether a field with these texts has the words, moved by at most `slop` in total."""
    places: dict[str, list[int]] = {word: [] for word in words}
    position = 0
    for text in texts:
        found = tokens(text)
        for place, token in enumerate(found, position):
            if token in places:
                places[token].append(place)
        position += len(found) + VALUES_APART
    return stand_near(words, places, slop)
