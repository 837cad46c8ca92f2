"""Known-item search with named rankings: titles, anchors and descriptions left out of the index.

    python -m benchmarks.relevance FILE... [--items 300]

Each of three archives lacks what its queries are made of: titles that one page has, one link to
each page that others link to, or `meta` descriptions. Prints by language the mean reciprocal rank
and the share of first places, each with an interval of 95 % (bootstrapped), and its change.
"""

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.known_items import Item, copy_without, documents, drawn_items, rank
from nwx.engine.analyzer import tokens
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.importing import ImportOptions, import_files
from nwx.model import Document
from nwx.query.fields import DEFAULT_FIELDS
from nwx.query.tree import rank_weight
from nwx.settings import Settings
from nwx.warc.sources import expand

RANKINGS: dict[str, dict[str, float]] = {
    "default": dict(DEFAULT_FIELDS),
    "url 2": DEFAULT_FIELDS | {"url_text": 2.0},
    "url 3": DEFAULT_FIELDS | {"url_text": 3.0},
    "title 2, url 2": DEFAULT_FIELDS | {"title": 2.0, "url_text": 2.0},
    "title 2.5, url 2": DEFAULT_FIELDS | {"title": 2.5, "url_text": 2.0},
}
"""Weights of fields by the name of a ranking; the first is what others are compared with."""

_SAMPLES = 1_000
_DESCRIPTION_WORDS = 8


def main() -> None:
    """Build the archives without the items, and print how well they are found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("--items", type=int, default=300)
    given = options.parse_args()
    chance = random.Random(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedEngine(Path(folder) / "whole") as engine,
    ):
        engine.create()
        settings = Settings(str(Path(folder) / "whole"))
        import_files(engine, settings, expand(map(str, given.files)), ImportOptions())
        engine.refresh()
        language = {
            one.capture.urlkey: one.extract.content_language or "?" for one in documents(engine)
        }
        sets = {
            "titles": _drawn(engine, lambda one: one.extract.title, chance),
            "anchors": drawn_items(documents(engine), 5, chance),
            "descriptions": _drawn(engine, lambda one: one.extract.description, chance),
        }
        for name, items in sets.items():
            chosen = items[: given.items]
            place = Path(folder) / name
            left_out = chosen if name == "anchors" else ()
            copy_without(_without(name, documents(engine)), engine, left_out, place)
            compare(name, place, chosen, language)


def _drawn(engine: Engine, of: Callable[[Document], str], chance: random.Random) -> list[Item]:
    """Return the texts of pages that one URL has, in any order, cut to some words."""
    pages = [
        one
        for one in documents(engine)
        if rank_weight(one.capture.content_type_norm, one.capture.status_code) == 1
    ]
    texts = {(one.capture.urlkey, _cut(of(one))) for one in pages}
    counts = Counter(text for _, text in texts)
    usable = [Item(*one) for one in sorted(texts) if one[1] and counts[one[1]] == 1]
    chance.shuffle(usable)
    return usable


def _cut(text: str) -> str:
    return " ".join(tokens(text)[:_DESCRIPTION_WORDS])


def _without(name: str, found: Iterable[Document]) -> Iterator[Document]:
    for one in found:
        match name:
            case "titles":
                yield replace(one, extract=replace(one.extract, title=""))
            case "descriptions":
                yield replace(one, extract=replace(one.extract, description=""))
            case _:
                yield one


def compare(name: str, place: Path, items: Sequence[Item], language: dict[str, str]) -> None:
    """Print the results of items with each ranking, by language and of all."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        groups["all"].append(number)
        groups[language.get(item.target, "?")].append(number)
    usual, base = dict(DEFAULT_FIELDS), np.zeros(len(items))
    for ranking, weights in RANKINGS.items():
        DEFAULT_FIELDS.update(weights)
        try:
            with EmbeddedEngine(place, read_only=True) as engine:
                ranks = np.array([rank(engine, item) for item in items])
        finally:
            DEFAULT_FIELDS.update(usual)
        mrr = np.where(ranks > 0, 1 / np.maximum(ranks, 1), 0.0)
        base = mrr if ranking == next(iter(RANKINGS)) else base
        for group, numbers in groups.items():
            if len(numbers) >= 10:
                one, first = _interval(mrr[numbers]), _interval(ranks[numbers] == 1)
                print(
                    f"{name:12} {group:4} {len(numbers):4} {ranking:16} MRR {one}"
                    f" change {_interval((mrr - base)[numbers])} P@1 {first}"
                    f" found {np.mean(ranks[numbers] > 0):.1%}"
                )


def _interval(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    chance = np.random.default_rng(1)
    means = values[chance.integers(0, len(values), (_SAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


if __name__ == "__main__":
    main()
