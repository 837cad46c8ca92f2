"""Comparison of rankings: known items, judged queries and latency.

    python -m benchmarks.relevance FILE... [--items 200] [--rankings older default] [--judged CSV]
        [--archive FOLDER]

The known items are pages. Their queries are removed from an archive: a unique title of a page, its
`meta` description, or one link to it whose text names at most five URLs. The archive stays in
FOLDER and is reused. Prints by language the mean reciprocal rank and the share of first places with
a 95 % interval (bootstrapped), the change against the first ranking, and the time of a search. Then
the measures of the judged queries (`benchmarks/judgements.csv`: query, URL, grade by language) on
the whole archive.
"""

import argparse
import csv
import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.known_items import Item, copy_without, documents, drawn_items, place_of
from nwx.answers.hits import Hits
from nwx.cli.search.rankings import print_evaluations
from nwx.engine.analyzer import tokens
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.importing import ImportOptions, import_files
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.model import Document, SearchResult
from nwx.query.question import MAX_LIMIT, Question
from nwx.query.rankings import BUILT_IN, Ranking
from nwx.query.tree import is_below_pages
from nwx.searching.judgements import Judgement, qrels_of
from nwx.searching.ranking_evaluation import DEPTH, MeasureValues, evaluations, mean_estimate
from nwx.settings import Settings
from nwx.warc.sources import expand

_JUDGED = Path(__file__).parent / "judgements.csv"
_DESCRIPTION_WORDS = 8
_RUNS = 10
_FEWEST = 10
"""The least items of a language that is printed separately."""


def main() -> None:
    """Build the archives without the items, and print how well the items are found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("--items", type=int, default=200)
    options.add_argument("--rankings", nargs="+", default=["older", "default"])
    options.add_argument("--judged", type=Path, default=_JUDGED)
    options.add_argument("--archive", type=Path)
    given = options.parse_args()
    rankings = {name: BUILT_IN[name] for name in given.rankings}
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.archive or Path(temporary)
        if not (folder / "items.json").exists():
            _build(folder, given.files, given.items)
        drawn = json.loads((folder / "items.json").read_text("utf-8"))
        with EmbeddedEngine(folder / "without", read_only=True) as engine:
            for name, items in drawn["items"].items():
                chosen = [Item(*one) for one in items]
                compare(name, engine, chosen, drawn["languages"], rankings)
        with EmbeddedEngine(folder / "whole", read_only=True) as engine:
            print_judged(engine, given.judged, rankings)


def _build(folder: Path, files: Sequence[Path], most: int) -> None:
    """Write an archive of files, one without the items' queries, and the items."""
    chance = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(str(folder / "whole"))
    with EmbeddedEngine(folder / "whole") as engine:
        engine.create()
        import_files(engine, settings, expand(map(str, files)), ImportOptions())
        engine.refresh()
        invert_links(
            engine, partial(EmbeddedEngine, folder / "whole", read_only=True), InlinkBuildOptions()
        )
        pages = {one.capture.urlkey: one for one in documents(engine) if _is_page(one)}
        sets = {
            "titles": _drawn(pages.values(), lambda one: one.extract.title, chance),
            "descriptions": _drawn(pages.values(), lambda one: one.extract.description, chance),
            "anchors": [
                item for item in drawn_items(documents(engine), 5, chance) if item.target in pages
            ],
        }
        taken: set[str] = set()
        for name, items in sets.items():  # queries of one set are only removed for that set
            sets[name] = [item for item in items if item.target not in taken][:most]
            taken |= {item.target for item in sets[name]}
        lacking = {name: {item.target for item in items} for name, items in sets.items()}
        found = (_without(lacking, one) for one in documents(engine))
        copy_without(found, engine, sets["anchors"], folder / "without")
    written = {
        "items": {name: list(map(astuple, items)) for name, items in sets.items()},
        "languages": {key: one.extract.content_language or "?" for key, one in pages.items()},
    }
    (folder / "items.json").write_text(json.dumps(written), "utf-8")


def _is_page(one: Document) -> bool:
    capture = one.capture
    return not is_below_pages(capture.content_type_norm, capture.status_code, one.extract.problems)


def _without(lacking: Mapping[str, set[str]], one: Document) -> Document:
    extract = one.extract
    if one.capture.urlkey in lacking["titles"]:
        extract = replace(extract, title="")
    if one.capture.urlkey in lacking["descriptions"]:
        extract = replace(extract, description="")
    return replace(one, extract=extract)


def _drawn(
    pages: Iterable[Document], of: Callable[[Document], str], chance: random.Random
) -> list[Item]:
    """Return texts of pages that only one URL has, in random order, cut to some words."""
    texts = {(one.capture.urlkey, _cut(of(one))) for one in pages}
    counts = Counter(text for _, text in texts)
    usable = [Item(*one) for one in sorted(texts) if one[1] and counts[one[1]] == 1]
    chance.shuffle(usable)
    return usable


def _cut(text: str) -> str:
    return " ".join(tokens(text)[:_DESCRIPTION_WORDS])


def compare(
    name: str,
    engine: Engine,
    items: Sequence[Item],
    language: Mapping[str, str],
    rankings: Mapping[str, Ranking],
) -> None:
    """Print the results of items with each ranking, by language and in total."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        groups["all"].append(number)
        groups[language.get(item.target, "?")].append(number)
    found: dict[str, tuple[MeasureValues, MeasureValues]] = {}
    for item in items:  # first reads are slower, whichever ranking comes first
        _first_page(engine, item, Ranking())
    least = {title: np.full(len(items), np.inf) for title in rankings}
    for run in range(_RUNS):  # alternate the order: other load, and warmer caches
        for number, item in enumerate(items):
            for title in list(rankings)[:: -1 if run % 2 else 1]:
                took = _first_page(engine, item, rankings[title])
                least[title][number] = min(least[title][number], took)
    for title, ranking in rankings.items():
        found[title] = np.array([_rank(engine, item, ranking) for item in items]), least[title]
    base, usual = (np.array(one) for one in next(iter(found.values())))
    first = next(iter(rankings.values()))
    answered = np.array([_page(engine, item, first).total.value > 0 for item in items])
    for title, (ranks, times) in found.items():
        for group, numbers in groups.items():
            if len(numbers) < _FEWEST:
                continue
            mine, before = (_reciprocal(one[numbers]) for one in (ranks, base))
            change = mine.mean() / before.mean() - 1 if before.any() else 0.0
            print(
                f"{name:12} {group:4} {len(numbers):4} {title:8} MRR {_interval(mine)}"
                f" change {change:+.1%} {_interval(mine - before)}"
                f" P@1 {np.mean(ranks[numbers] == 1):.3f}"
                f" found {np.mean(ranks[numbers] > 0):.1%}"
            )
        for group, shown in (("all", answered | True), ("those the first answers", answered)):
            mine, before = times[shown], usual[shown]
            print(
                f"{name:12} {title:8} {group}: median {np.median(mine):.2f} ms, mean"
                f" {mine.mean():.2f} ms, {np.median(mine) / np.median(before):.2f} and"
                f" {mine.mean() / before.mean():.2f} of the first"
            )


def _reciprocal(ranks: MeasureValues) -> MeasureValues:
    return np.where(ranks > 0, 1 / np.maximum(ranks, 1), 0.0)


def _interval(values: MeasureValues) -> str:
    found = mean_estimate(values)
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _question(item: Item, ranking: Ranking, limit: int) -> Question:
    words = " ".join(tokens(item.text))
    return Question(words, ranking=ranking, limit=limit, snippets=False)


def _rank(engine: Engine, item: Item, ranking: Ranking) -> int:
    hits = Hits(lambda: engine, _question(item, ranking, MAX_LIMIT)).page().hits
    return place_of(item, hits)


def _first_page(engine: Engine, item: Item, ranking: Ranking) -> float:
    """Return the processor milliseconds of the first page."""
    began = time.process_time()
    _page(engine, item, ranking)
    return (time.process_time() - began) * 1000


def _page(engine: Engine, item: Item, ranking: Ranking) -> SearchResult:
    return Hits(lambda: engine, _question(item, ranking, 10)).page()


def print_judged(engine: Engine, path: Path, rankings: Mapping[str, Ranking]) -> None:
    """Print the measures of the judged queries by language and in total."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    results = {
        name: {
            query: [
                hit.url
                for hit in Hits(
                    lambda: engine, Question(query, ranking=ranking, limit=DEPTH, snippets=False)
                )
                .page()
                .hits
            ]
            for query in {row["query"] for row in rows}
        }
        for name, ranking in rankings.items()
    }
    for group in ("all", *sorted({row["language"] for row in rows})):
        judged = [row for row in rows if group in ("all", row["language"])]
        qrels = qrels_of(Judgement(row["query"], row["url"], int(row["grade"])) for row in judged)
        print(f"judged queries, {group}")
        print_evaluations(evaluations(qrels, results))


if __name__ == "__main__":
    main()
