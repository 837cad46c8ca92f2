"""Sets of documents by word, and trees of words put together from them."""

import random

import numpy as np
import pytest

from nwx.engine.embedded.documents.matches import word_sets
from nwx.engine.embedded.documents.matches.word_sets import (
    ChangedNumbers,
    WordSets,
    bits_of,
    numbers_of,
    words_in,
)
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.query.tree import All, Bool, Boost, Node, Phrase, Term, Wildcard

SIZE = 1000
EVERYTHING = np.arange(1, SIZE)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000])
def test_numbers_become_bits_and_again_numbers(size: int) -> None:
    nums = np.flatnonzero(np.random.default_rng(size).random(size) < 0.5)
    assert numbers_of(bits_of(nums, size)).tolist() == nums.tolist()


class Words:
    """Words and their documents: `by3` is in every third."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, word: str) -> Ints:
        self.asked.append(word)
        return EVERYTHING[EVERYTHING % int(word[2:]) == 0]


def found_by(node: Node, number: int) -> bool:
    match node:
        case Term() | Phrase():
            return number % int(node.text[2:]) == 0
        case Boost():
            return found_by(node.node, number)
        case Bool():
            there = all(found_by(part, number) for part in node.must)
            if not node.must and node.should:
                there = any(found_by(part, number) for part in node.should)
            return there and not any(found_by(part, number) for part in node.must_not)
    return True


def any_tree(source: random.Random, depth: int = 3) -> Node:
    kind = source.random()
    if not depth or kind < 0.4:
        return Term("", f"by{source.randint(1, 12)}")
    if kind < 0.5:
        return source.choice((All(), Phrase("", "by5"), Boost(Term("", "by2"), 2.0)))
    must, should, must_not = (
        tuple(any_tree(source, depth - 1) for _ in range(source.choice((0, 0, 1, 2))))
        for _ in range(3)
    )
    return Bool(must, should, must_not)


@pytest.mark.parametrize("seed", range(60))
def test_trees_of_words_find_what_a_look_at_each_document_finds(seed: int) -> None:
    node = any_tree(random.Random(seed))
    sets = WordSets(Words(), EVERYTHING, SIZE)
    for _ in range(2):
        expected = [number for number in EVERYTHING.tolist() if found_by(node, number)]
        assert sets.matching(node).tolist() == expected


def test_sets_are_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_sets, "_KEPT_BYTES", 2 * bits_of(EVERYTHING, SIZE).nbytes)
    words = Words()
    sets = WordSets(words, EVERYTHING, SIZE)
    both = Bool(must=(Term("", "by2"), Term("", "by3")))
    for _ in range(3):
        sets.matching(both)
    assert words.asked == ["by2", "by3"]
    assert sets.has({"by2", "by3"})
    sets.matching(Term("", "by5"))
    assert not sets.has({"by2", "by3", "by5"})


def test_several_sets_are_read_for_words_that_are_asked_again() -> None:
    sets = WordSets(Words(), EVERYTHING, SIZE)
    assert sets.are_worth_reading({"by2"})
    assert not sets.are_worth_reading({"by2", "by3", "by5"})
    assert sets.are_worth_reading({"by3", "by5"})
    sets.matching(Term("", "by3"))
    assert sets.are_worth_reading({"by3", "by7"})


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (Term("", "Élysée"), {"elysee"}),
        (Bool(must=(Term("", "one"),), must_not=(Phrase("", "two"),)), {"one", "two"}),
        (Boost(All(), 2.0), set()),
        (Phrase("", "one two"), None),
        (Term("title", "one"), None),
        (Bool(should=(Term("", "one"), Wildcard("", "t*"))), None),
    ],
)
def test_only_single_words_of_default_fields_are_taken(node: Node, words: set[str] | None) -> None:
    assert words_in(node) == words


@pytest.mark.parametrize("seed", range(10))
def test_sets_of_an_earlier_moment_are_brought_forward(seed: int) -> None:
    chance, words = random.Random(seed), {"a": {1, 5, 9}, "b": {2, 900}, "c": set(range(1000))}
    size, read = SIZE, list[str]()

    def having(word: str) -> Ints:
        read.append(word)
        return np.array(sorted(words[word]), dtype=np.int64)

    def changed_having(word: str, changes: ChangedNumbers) -> Ints:
        changed = {*changes.replaced.tolist(), *range(changes.since, size)}
        return np.array(sorted(words[word] & changed), dtype=np.int64)

    sets = WordSets(having, np.arange(size), size)
    for word in words:
        sets.matching(Term("", word))
    for _ in range(6):
        changed = {chance.randrange(size) for _ in range(3)} | set(range(size, size + 10))
        size += 10
        for number in changed:
            for documents in words.values():
                documents.discard(number)
                if chance.random() < 0.5:
                    documents.add(number)
        later = WordSets(having, np.arange(size), size)
        later.take_earlier(sets, np.array(sorted(changed)), changed_having)
        sets = later
        assert sets.has(words)
        for word in chance.sample(sorted(words), 2):
            assert set(sets.matching(Term("", word)).tolist()) == words[word]
    assert read == ["a", "b", "c"]


def test_sets_are_read_anew_where_much_has_changed() -> None:
    sets, words = WordSets(Words(), EVERYTHING, SIZE), Words()
    sets.matching(Term("", "by2"))
    later = WordSets(words, EVERYTHING, SIZE)
    later.take_earlier(sets, EVERYTHING[:300], lambda word, changes: EVERYTHING)
    assert not later.has({"by2"})
    later.matching(Term("", "by2"))
    assert words.asked == ["by2"]
