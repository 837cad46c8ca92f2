"""Sets of frequent words beside the columns: the same results as without, whatever comes after."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from nwx.bulk.arrays import read_arrays
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import columns
from nwx.engine.embedded.documents.matches.stored_sets import StoredSets, stored_sets
from nwx.engine.embedded.documents.matches.word_sets import bits_of, numbers_of
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.keys import document_key
from nwx.model import Batch, Capture, Dates, IndexName
from nwx.query.question import Question
from tests.unit.engine.embedded.making import batch, page

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
    """Return how many documents have each word, and both of each two of them."""
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
    write(path, range(100, 104))  # too few to write the file anew
    assert found(path) == expected(range(104))
    write(path, range(104, 125))
    assert found(path) == expected(range(125))
    with opened(path) as engine:  # the file is written anew, without a look at words
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
