"""Search by meaning: recall, bytes per passage, and the time of hybrid searches.

    python -m benchmarks.vectors [--texts FILE] [--documents 100000] [--archive FOLDER]
        [--questions 200] [--whole]

FILE has the text of a document in each line (UTF-8); without it, texts are generated from words of
the model, each about a few subjects: distances of passages are then random, the hardest case.
Prints how many of the ten nearest documents by exact comparison a search in the index finds: by the
stored vectors, and with --whole by the model's original ones; the bytes of the index; and the times
of searches by words, meaning and both by the clock and, without a server, of the processors.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from random import Random
from statistics import median, quantiles

import numpy as np
import numpy.typing as npt
import wordllama

from nwx import Archive
from nwx.engine.base import Engine, open_engine
from nwx.engine.indices.vector_index import cosines, quantised
from nwx.model import Batch, Document, IndexName
from nwx.searching.vectors import FEW_PASSAGES, build_vectors, kept_embedder
from nwx.settings import Settings
from tests.conformance.archive import batch, page

_Floats = npt.NDArray[np.float32]
_BATCH = 1_000
_TEN = 10
_WORDS = 3
_TURNS = 6
_WAYS = "words", "meaning", "both"
_INFINITE = float("inf")


def main() -> None:
    """Create or open an archive, and print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--texts", type=Path)
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--archive", default="")
    options.add_argument("--questions", type=int, default=200)
    options.add_argument("--whole", action="store_true")
    given = options.parse_args()
    if given.texts:
        texts = given.texts.read_text("utf-8").splitlines()[: given.documents]
    else:
        texts = _made_texts(given.documents)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(given.archive or f"{folder}/archive")
        with open_engine(settings) as engine:
            engine.create()
            if not engine.count(IndexName.DOCUMENTS):
                for some in _batches(texts):
                    engine.write(some)
                engine.refresh()
            built = build_vectors(engine)
            print(f"{built.passages:,} passages built in {built.seconds:.0f} s")
        with open_engine(settings) as engine:  # the journal has been merged into the files
            stats = engine.stats()[IndexName.VECTORS]
            count = stats.entries or 1
            print(f"{count:,} passages, {(stats.bytes or 0) / count:.0f} bytes each")
            questions = _questions(texts, given.questions)
            _print_recall(engine, questions, is_whole=given.whole)
            _print_times(engine, settings, questions)


def _made_texts(count: int) -> list[str]:
    """Return texts of 2 to 6 passages: frequent words, and words of two of 300 subjects."""
    chance = Random(29)
    vocabulary = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    ).tokenizer.get_vocab()
    pieces = sorted(piece for piece in vocabulary if piece[0] == "\u2581")  # marks a word's start
    known = [piece[1:] for piece in pieces if piece[1:].isalpha() and piece[1:].islower()]
    words = [one for one in known if one.isascii() and len(one) > 2]
    chance.shuffle(words)
    frequent = words[:2_000]
    weights = list(accumulate(1 / rank for rank in range(1, len(frequent) + 1)))
    subjects = [chance.sample(words, 60) for _ in range(300)]
    texts = []
    for _ in range(count):
        size = chance.randint(180, 540)
        own = [*chance.choice(subjects), *chance.choice(subjects), *chance.sample(words, 20)]
        drawn = chance.choices(frequent, cum_weights=weights, k=size // 2)
        drawn += chance.choices(own, k=size - size // 2)
        chance.shuffle(drawn)
        texts.append(" ".join(drawn))
    return texts


def _batches(texts: Sequence[str]) -> Iterator[Batch]:
    made = (_document(number, text) for number, text in enumerate(texts))
    while some := list(islice(made, _BATCH)):
        yield batch(some)


def _document(number: int, text: str) -> Document:
    return page(f"http://site{number % 997}.example/{number}", str(2000 + number % 20), text)


def _questions(texts: Sequence[str], count: int) -> list[str]:
    """Return a few consecutive words of some texts."""
    chance = Random(7)
    found: list[str] = []
    while len(found) < count:
        words = [word for word in chance.choice(texts).split() if word.isalpha() and word.islower()]
        if len(words) > _WORDS:
            start = chance.randrange(len(words) - _WORDS)
            found.append(" ".join(words[start : start + _WORDS]))
    return found


def _print_recall(engine: Engine, questions: Sequence[str], *, is_whole: bool) -> None:
    index = engine.vector_index()
    ids, vectors, spans = [], [], []
    for entry in engine.scan(IndexName.VECTORS):
        ids.append(entry["document"])
        spans.append((entry["start"], entry["end"]))
        vectors.append(np.array(entry["vector"], dtype=np.int8))
    held = np.stack(vectors)
    whole, model = _whole_vectors(engine, ids, spans) if is_whole else (None, None)
    asked = quantised(kept_embedder("", index.model_dimensions).embed(questions))
    firsts = [n for n, id in enumerate(ids) if not n or id != ids[n - 1]]
    places = {ids[first]: place for place, first in enumerate(firsts)}
    of_held, of_whole, took = 0, 0, []
    for question, vector in zip(questions, asked, strict=True):
        began = time.process_time()
        near = index.nearest(vector, FEW_PASSAGES).passages[:_TEN]
        took.append(1_000 * (time.process_time() - began))
        found = [places[one.document] for one in near]
        of_held += _as_near(np.maximum.reduceat(cosines(vector, held), firsts), found)
        if whole is not None and model is not None:
            scores = whole @ model.embed([question], norm=True)[0]
            of_whole += _as_near(np.maximum.reduceat(scores, firsts), found)
    most = _TEN * len(questions)
    print(f"recall@10 of exact search {of_held / most:.3f}")
    if is_whole:
        print(f"recall@10 of exact search with 256 dimensions {of_whole / most:.3f}")
    print(
        f"nearest passages: median {median(took):.2f} ms, 95 % {quantiles(took, n=20)[-1]:.2f} ms"
    )


def _as_near(scores: _Floats, found: Sequence[int]) -> int:
    """Return how many found documents are as near as the tenth; many pages have the same text."""
    tenth = np.partition(scores, -_TEN)[-_TEN]
    return int((scores[found] >= tenth - 1e-6).sum())


def _whole_vectors(
    engine: Engine, ids: Sequence[str], spans: Sequence[tuple[int, int]]
) -> tuple[_Floats, wordllama.WordLlamaInference]:
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    found: list[_Floats] = []
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        documents = engine.documents(list(dict.fromkeys(some)))
        texts = [
            documents[id].extract.content[first:last]
            for id, (first, last) in zip(some, spans[start : start + _BATCH], strict=True)
        ]
        found.append(model.embed(texts, norm=True))
    return np.concatenate(found), model


def _print_times(engine: Engine, settings: Settings, questions: Sequence[str]) -> None:
    """Print times by the clock and, in a folder, of the processors; each the best of several."""
    archive = Archive.over(engine, settings)
    clocks = {"by the clock": time.perf_counter}
    if engine.traits.is_local:
        clocks["of processors"] = time.process_time
    best = {name: {by: [_INFINITE] * len(questions) for by in _WAYS} for name in clocks}
    for place, question in enumerate(questions):
        for _ in range(_TURNS):
            for by in _WAYS:
                began = {name: now() for name, now in clocks.items()}
                archive.search(question, by=by).page()
                for name, now in clocks.items():
                    took = 1_000 * (now() - began[name])
                    best[name][by][place] = min(best[name][by][place], took)
    for name, ways in best.items():
        for by, times in ways.items():
            print(
                f"by {by}: median {median(times):.1f} ms {name},"
                f" 95 % {quantiles(times, n=20)[-1]:.1f} ms"
            )
        print(f"both: {sum(ways['both']) / sum(ways['words']):.2f} times words {name} (sums)")


if __name__ == "__main__":
    main()
