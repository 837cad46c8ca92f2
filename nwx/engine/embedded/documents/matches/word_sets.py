"""Sets of documents as bits, one of a number each: of words, and of queries that combine words."""

import threading
from collections.abc import Callable, Collection, Iterator

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from nwx.engine.embedded.documents.analyzer import tokens
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.query.tree import All, Bool, Boost, Node, Phrase, Term

Bits = npt.NDArray[np.uint64]
"""Documents by number, 64 in each."""

_KEPT_BYTES = 64_000_000
_ASKED = 10_000


def bits_of(nums: Ints, size: int) -> Bits:
    """Return a set of numbers below `size` as bits."""
    there = np.zeros(-(-size // 64) * 64, dtype=bool)
    there[nums] = True
    return np.packbits(there, bitorder="little").view(np.uint64)


def numbers_of(bits: Bits) -> Ints:
    """Return the numbers of a set, in order."""
    # NumPy finds what is true in an array of bools several times as fast as in one of numbers.
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little").view(np.bool_))


class WordSets:
    """The sets of words that were asked for, kept up to a number of bytes; threads may share it.

    `read` gives the numbers of the documents that have a word.
    """

    def __init__(self, read: Callable[[str], Ints], everything: Ints, size: int) -> None:
        self._read = read
        self._size = size
        self._everything = everything
        self._kept: LRUCache[str, Bits] = LRUCache(_KEPT_BYTES, getsizeof=lambda bits: bits.nbytes)
        self._asked: LRUCache[str, None] = LRUCache(_ASKED)
        self._guard = threading.Lock()

    def has(self, words: Collection[str]) -> bool:
        """Tell whether the sets of all these words are kept."""
        with self._guard:
            return all(word in self._kept for word in words)

    def are_worth_reading(self, words: Collection[str]) -> bool:
        """Tell whether to read the sets of words that are not kept: only one, or all asked before.

        One set takes as long to read as the result itself.
        """
        with self._guard:
            missing = [word for word in words if word not in self._kept]
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
                return self._word(tokens(node.text)[0])
        return bits_of(self._everything, self._size)

    def _bool(self, node: Bool) -> Bits:
        if node.must:
            found = self._combined(node.must[0]).copy()
            for part in node.must[1:]:
                found &= self._combined(part)
        elif node.should:
            found = self._combined(node.should[0]).copy()
            for part in node.should[1:]:
                found |= self._combined(part)
        else:
            found = self._combined(All())
        for part in node.must_not:
            found &= ~self._combined(part)
        return found

    def _word(self, word: str) -> Bits:
        with self._guard:
            kept = self._kept.get(word)
        if kept is None:
            kept = bits_of(self._read(word), self._size)
            if kept.nbytes <= _KEPT_BYTES:
                with self._guard:
                    self._kept[word] = kept
        return kept


def words_in(node: Node) -> frozenset[str] | None:
    """Return the words of a tree, None where it asks for anything but words in default fields."""
    found: set[str] = set()
    for leaf in _leaves(node):
        if not isinstance(leaf, Term | Phrase) or leaf.field:
            return None
        here = tokens(leaf.text)
        if len(here) != 1:
            return None
        found.update(here)
    return frozenset(found)


def _leaves(node: Node) -> Iterator[Node]:
    match node:
        case All():
            return
        case Boost():
            yield from _leaves(node.node)
        case Bool():
            for part in (*node.must, *node.should, *node.must_not):
                yield from _leaves(part)
        case _:
            yield node
