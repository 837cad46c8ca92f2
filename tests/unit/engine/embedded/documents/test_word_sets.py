"""Sets of documents by word, and trees of words built from them."""

import random
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nwx.bulk.arrays import read_arrays
from nwx.engine.document_index import MAX_TERMS, Work, working
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import columns, word_sets
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.documents.word_sets import (
    ChangedNumbers,
    StoredSets,
    Terms,
    WordSets,
    are_near,
    bits_of,
    is_plain,
    numbers_of,
    stored_sets,
    words_in,
)
from nwx.errors import QueryError
from nwx.keys import document_key
from nwx.model import Batch, Capture, Dates, IndexName
from nwx.query.question import Question
from nwx.query.tree import All, Bool, Boost, Node, Phrase, Term, Wildcard
from tests.unit.engine.embedded.making import batch, page

SIZE = 1000
EVERYTHING = np.arange(1, SIZE)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000])
def test_numbers_become_bits_and_again_numbers(size: int) -> None:
    nums = np.flatnonzero(np.random.default_rng(size).random(size) < 0.5)
    assert numbers_of(bits_of(nums, size)).tolist() == nums.tolist()


class Words:
    """Words and their documents: every third one has `by3`."""

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


FACTORS = (2, 3, 5)


def test_sets_are_written_and_read() -> None:
    sets = {word: bits_of(np.arange(0, 200, step), 200) for word, step in (("é", 3), ("b", 7))}
    found = stored_sets(StoredSets(sets, 200, 12).arrays())
    assert found is not None
    assert {word: numbers_of(bits).tolist() for word, bits in found.sets.items()} == {
        "é": list(range(0, 200, 3)),
        "b": list(range(0, 200, 7)),
    }
    assert (found.size, found.seq) == (200, 12)
    empty = stored_sets(StoredSets({}, 1, 0).arrays())
    assert empty is not None
    assert empty.sets == {}
    assert stored_sets({}) is None


@contextmanager
def opened(path: Path) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(path) as engine:
        yield engine


def write(path: Path, numbers: Collection[int], *, shift: int = 0) -> None:
    """Write pages with a word for each factor of their numbers."""
    with opened(path) as engine:
        words = {n: [f"by{one}" for one in FACTORS if (n + shift) % one == 0] for n in numbers}
        engine.write(batch(*(page(n, " ".join(words[n]) or "none") for n in numbers)))


def found(path: Path) -> dict[str, int]:
    """Return the number of documents with each word, and with both words of some pairs."""
    texts = [f"by{one}" for one in FACTORS] + ["by2 by3", "by2 by5", "by3 by5"]
    with opened(path) as engine:
        return {text: engine.search(Question(text)).documents.value for text in texts}


def expected(numbers: Collection[int]) -> dict[str, int]:
    def having(*factors: int) -> int:
        return sum(all(number % one == 0 for one in factors) for number in numbers)

    return {
        **{f"by{one}": having(one) for one in FACTORS},
        **{"by2 by3": having(2, 3), "by2 by5": having(2, 5), "by3 by5": having(3, 5)},
    }


def test_results_are_the_same_whatever_comes_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "archive", list[str]()
    having = ArchiveView._having

    def noted(self: ArchiveView, word: str) -> object:
        read.append(word)
        return having(self, word)

    monkeypatch.setattr(columns, "LEAST_DOCUMENTS", 1)
    monkeypatch.setattr(ArchiveView, "_having", noted)
    write(path, range(100))
    assert {"by2", "by3", "by5"} <= set(read)
    kept = stored_sets(read_arrays(next(path.glob("columns*"))))
    assert kept is not None
    assert {"by2", "by3", "by5"} <= set(kept.sets)
    read.clear()
    assert found(path) == expected(range(100))
    write(path, range(100, 104))  # too few to rewrite the file
    assert found(path) == expected(range(104))
    write(path, range(104, 125))
    assert found(path) == expected(range(125))
    with opened(path) as engine:  # rewrites the file without reading words
        keys = [document_key(one.url, one.digest) for one in map(_capture, range(40))]
        seen = tuple(Dates(key, (("20110101000000", "web"),)) for key in keys)
        engine.write(Batch(dates=seen))
    assert found(path) == expected(range(125))
    assert read == []
    with opened(path) as engine:
        ids = [_capture(number).document_id for number in range(0, 125, 4)]
        engine.delete(IndexName.DOCUMENTS, [id for id in ids if id])
    assert found(path) == expected([number for number in range(125) if number % 4])


def _capture(number: int) -> Capture:
    return page(number, "").capture


class _Searcher:
    """An index of a few terms that records the queries."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def terms_with_prefix(self, field: str, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        self.asked.append((field, prefix))
        terms = ("stone", "storm", "sand")
        return [(term, 1) for term in terms if term.startswith(prefix)][:limit]


def _fitting(terms: Terms, field: str) -> list[str]:
    return terms.fitting(field, "sto", lambda term: term.endswith("m"), "sto*m")


def test_terms_that_fit_are_looked_up_once_for_all_default_fields() -> None:
    searcher: Any = _Searcher()
    terms, work = Terms(searcher), Work()
    with working(work):
        assert _fitting(terms, "title") == _fitting(terms, "content") == ["storm"]
        assert _fitting(terms, "author") == ["storm"]
    assert len(searcher.asked) == 2
    assert searcher.asked[1] == ("author", "sto")
    assert work.terms == 4


def test_too_many_terms_are_refused() -> None:
    searcher: Any = _Searcher()
    work = Work()
    work.visit_terms(MAX_TERMS - 1)
    with working(work), pytest.raises(QueryError):
        _fitting(Terms(searcher), "title")


# Results of Lucene 10.3.1.
AS_LUCENE = [
    ("b b", 1, "b e d a d a d", False),
    ("b b", 1, "b e b", True),
    ("c b e", 1, "c a b b e b a b", False),
    ("c b e", 1, "b d a d e c e b", False),
    ("b e a d", 1, "b a e a d b a a", True),
    ("b a e", 2, "b d c e a b b b", False),
    ("e c e d", 3, "e e d c e", True),
    ("a b", 1, "b a", False),
    ("a b", 2, "b a", True),
    ("b e e d", 4, "e d b c e", True),
]


@pytest.mark.parametrize(("phrase", "slop", "text", "expected"), AS_LUCENE)
def test_near_is_what_lucene_means(phrase: str, slop: int, text: str, expected: bool) -> None:
    assert are_near(phrase.split(), [text], slop) is expected


def test_texts_of_a_field_stand_apart() -> None:
    assert are_near(["a", "b", "c"], ["a b", "c"], 100)
    assert not are_near(["a", "b", "c"], ["a b", "c"], 99)


def test_only_some_phrases_are_left_to_tantivy() -> None:
    assert is_plain(["a", "b", "c"], 0)
    assert is_plain(["a", "b"], 3)
    assert not is_plain(["a", "a"], 1)
    assert not is_plain(["a", "b", "c"], 1)
