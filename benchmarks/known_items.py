"""Known-item search with and without anchor texts, on real archives.

    python -m benchmarks.known_items FILE... [--items 400] [--titles 300] [--ambiguous 5]

Draws captured URLs that at least three other pages link to. For each, one
random link is left out of the archive, and its anchor text is the query that
should find the URL; texts that link to more than `--ambiguous` URLs ("home",
"next") are excluded. Prints the mean reciprocal rank of the URLs in searches
without links, with anchors only, and with anchors and inlinks; and the same
for titles of a single URL, which must not become worse. Ranks count within the
first 1,000 results.
"""

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from nwx.engine.analyzer import tokens
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.entries import document_from_entry
from nwx.errors import UrlError
from nwx.importing import ImportOptions, import_files
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.links.parts import clean_anchor
from nwx.model import Batch, Document, Hit, IndexName, Link
from nwx.query.question import MAX_LIMIT, Question
from nwx.settings import RankingSettings, Settings
from nwx.values.urlkeys import urlkey
from nwx.warc.sources import expand

LEAST_INLINKS = 3
_AT_ONCE = 500
_RANKINGS = {
    "without links": RankingSettings(0, 0),
    "with anchors": RankingSettings(inlink_weight=0),
    "with anchors and inlinks": RankingSettings(),
}


@dataclass(frozen=True, slots=True)
class Item:
    """A URL to be found by a text: the anchor text of a link to it, or its title."""

    target: str
    text: str
    source: str = ""


def main() -> None:
    """Draw the items, and print their mean reciprocal ranks."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("--items", type=int, default=400)
    options.add_argument("--titles", type=int, default=300)
    options.add_argument("--ambiguous", type=int, default=5)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        with EmbeddedEngine(Path(folder) / "whole") as engine:
            engine.create()
            settings = Settings(str(Path(folder) / "whole"))
            import_files(engine, settings, expand(map(str, given.files)), ImportOptions())
            engine.refresh()
            items = drawn_items(documents(engine), given.ambiguous, chance)[: given.items]
            titles = drawn_titles(documents(engine), chance)[: given.titles]
            place = Path(folder) / "without"
            count = copy_without(documents(engine), engine, items, place)
        print(f"{count:,} documents, {len(items):,} items, {len(titles):,} titles")
        compare(place, {"anchor texts": items, "titles": titles})


def documents(engine: Engine) -> Iterator[Document]:
    """Yield the documents of an archive."""
    return map(document_from_entry, engine.scan(IndexName.DOCUMENTS))


def drawn_items(found: Iterable[Document], ambiguous: int, chance: random.Random) -> list[Item]:
    """Return a random link for each URL with enough linking pages, in random order."""
    captured: set[str] = set()
    links: dict[str, set[Item]] = defaultdict(set)
    for document in found:
        source = document.capture.urlkey
        captured.add(source)
        for link in document.extract.links:
            target = target_of(link)
            if target and target != source:
                links[target].add(Item(target, clean_anchor(link.text), source))
    targets_of: dict[str, set[str]] = defaultdict(set)
    for target, items in links.items():
        for item in items:
            targets_of[item.text.lower()].add(target)
    drawn = []
    for target in sorted(captured & set(links)):
        if len({item.source for item in links[target]}) < LEAST_INLINKS:
            continue
        usable = [
            item
            for item in links[target]
            if tokens(item.text) and len(targets_of[item.text.lower()]) <= ambiguous
        ]
        if usable:
            drawn.append(chance.choice(sorted(usable, key=lambda one: (one.source, one.text))))
    chance.shuffle(drawn)
    return drawn


def target_of(link: Link) -> str:
    """Return the urlkey of a link's target, "" if it has none."""
    try:
        return urlkey(link.url)
    except UrlError:
        return ""


def drawn_titles(found: Iterable[Document], chance: random.Random) -> list[Item]:
    """Return titles that only one URL has, in random order."""
    titles = {Item(one.capture.urlkey, one.extract.title) for one in found}
    counts = Counter(item.text for item in titles)
    usable = [item for item in titles if counts[item.text] == 1 and tokens(item.text)]
    usable.sort(key=lambda one: one.target)
    chance.shuffle(usable)
    return usable


def copy_without(
    found: Iterator[Document], engine: Engine, items: Sequence[Item], place: Path
) -> int:
    """Copy an archive without the items' links, invert its links; return the document count."""
    left_out = {(item.source, item.target, item.text) for item in items}
    count = 0
    with EmbeddedEngine(place) as copy:
        while chunk := list(islice(found, _AT_ONCE)):
            made = tuple(_without(document, left_out) for document in chunk)
            dates = engine.dates([one.capture.document_id for one in made])
            copy.write(Batch(made, tuple(one.capture for one in made), tuple(dates.values())))
            count += len(made)
        copy.refresh()
        reopen = partial(EmbeddedEngine, place, read_only=True)
        invert_links(copy, reopen, InlinkBuildOptions())
    return count


def _without(document: Document, left_out: set[tuple[str, str, str]]) -> Document:
    source = document.capture.urlkey
    links = tuple(
        link
        for link in document.extract.links
        if (source, target_of(link), clean_anchor(link.text)) not in left_out
    )
    return replace(document, extract=replace(document.extract, links=links))


def compare(place: Path, sets: dict[str, list[Item]]) -> None:
    """Print the mean reciprocal ranks of sets of items for each ranking."""
    for name, items in sets.items():
        before = 0.0
        for words, ranking in _RANKINGS.items():
            with EmbeddedEngine(place, read_only=True, ranking=ranking) as engine:
                ranks = [rank(engine, item) for item in items]
            mean = sum(1 / one for one in ranks if one) / max(len(ranks), 1)
            before = before or mean
            there = sum(map(bool, ranks)) / max(len(ranks), 1)
            print(
                f"{name:13} {words:25} mean reciprocal rank {mean:.3f} ({mean / before - 1:+.1%}),"
                f" found {there:.1%}"
            )


def rank(engine: Engine, item: Item) -> int:
    """Return the rank of an item's URL in the results for its text, 0 if it is missing."""
    words = " ".join(tokens(item.text))
    return place_of(item, engine.search(Question(words, limit=MAX_LIMIT, snippets=False)).hits)


def place_of(item: Item, hits: Sequence[Hit]) -> int:
    """Return the position of an item's URL among hits, from 1; 0 if it is missing."""
    keys = [urlkey(hit.url) for hit in hits]
    return keys.index(item.target) + 1 if item.target in keys else 0


if __name__ == "__main__":
    main()
