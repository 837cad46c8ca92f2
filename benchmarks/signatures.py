"""Precision and recall of near-duplicate signatures: on hashes of words, and on the words.

The peer is the TextProfileSignature of Nutch and Solr, on a Counter of words.
Pairs are pages of one host in real archives, and pages with generated edits
of them. Two texts are near-identical if the Jaccard similarity of their word
pairs is at least 0.95, and different if it is below 0.8. Precision is the
share of pairs with equal signatures that are not different; recall, the share
of near-identical pairs with equal signatures.

    python -m benchmarks.signatures FOLDER [--most 40]
"""

import argparse
import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise
from pathlib import Path

from nwx.extract import extract
from nwx.extract.text import signature_of
from nwx.values.urls import url_parts
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource, expand

NEAR, OTHER = 0.95, 0.8
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
APART = re.compile(r"[\s!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]+")
AREAS = ("Berlin", "Lyon", "Porto", "Leeds", "Turin")

Pair = tuple[str, str]


def by_counter(content: str) -> str:
    """Return the signature of a text from a Counter of its words."""
    text = content[:100_000].lower()
    text = UNSPACED.sub(lambda run: f" {' '.join(map(''.join, pairwise(run[0])))} ", text)
    words = [re.sub("[1-9]", "0", word) for word in APART.split(text) if word]
    if len(words) < 50:
        return ""
    counts = Counter(words)
    step = max(round(max(counts.values()) * 0.01), 2)
    profile = sorted(
        (count // step, word)
        for word, count in counts.items()
        if count >= step and len(word.encode()) > 1 and "0" not in word
    )
    if len(profile) < 10:
        return ""
    return hashlib.blake2b(repr(profile).encode(), digest_size=8).hexdigest()


def texts_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield host and text of pages in archives."""
    for source in expand([str(folder)]):
        if not isinstance(source, ArchiveSource):
            continue
        for found in ArchiveReader(source, "bench"):
            if isinstance(found, CaptureRecord) and found.capture.content_type_norm == "html":
                url = found.capture.url
                text = extract(found.payload().data, url=url, content_type_norm="html").content
                if signature_of(text):
                    yield url_parts(url).host, text


def pairs_of_hosts(texts: Iterable[tuple[str, str]], most: int) -> Iterator[Pair]:
    """Yield pairs of distinct texts of one host, of at most `most` texts per host."""
    hosts: dict[str, dict[str, None]] = defaultdict(dict)
    for host, text in texts:
        hosts[host][text] = None
    for found in hosts.values():
        yield from combinations(list(found)[:most], 2)


def edited(text: str, chance: random.Random) -> Iterator[str]:
    """Yield edits of a text: a date, a counter, an advertisement, removed lines, changed words."""
    lines = text.split("\n")
    yield f"{text}\nPrinted on {chance.randint(1, 28)} May {chance.randint(1999, 2024)}"
    yield f"Visitor {chance.randint(1, 99999)}\n{text}"
    yield "\n".join([*lines[:3], f"Visit {chance.choice(AREAS)} this summer", *lines[3:]])
    yield "\n".join(line for line in lines if chance.random() > 0.02)
    yield "\n".join(line for line in lines if chance.random() > 0.3)
    words = text.split(" ")
    yield " ".join(word if chance.random() > 0.002 else "something" for word in words)
    yield " ".join(word if chance.random() > 0.2 else "something" for word in words)


def similarity(first: str, second: str) -> float:
    """Return the Jaccard similarity of two texts by their word pairs."""
    ours, theirs = (set(pairwise(text.lower().split())) for text in (first, second))
    return len(ours & theirs) / max(1, len(ours | theirs))


def judge(name: str, pairs: list[Pair]) -> None:
    """Print precision and recall of both signatures on pairs of texts."""
    alike = [similarity(*pair) for pair in pairs]
    near = [pair for pair, value in zip(pairs, alike, strict=True) if value >= NEAR]
    print(f"{name}: {len(pairs)} pairs, {len(near)} of them near-identical")
    ways: dict[str, Callable[[str], str]] = {"Counter": by_counter, "nwx": signature_of}
    for way, sign in ways.items():
        known = {text: sign(text) for text in {text for pair in pairs for text in pair}}
        equal = [
            value
            for pair, value in zip(pairs, alike, strict=True)
            if known[pair[0]] and known[pair[0]] == known[pair[1]]
        ]
        right = sum(value >= OTHER for value in equal)
        hits = sum(known[first] == known[second] != "" for first, second in near)
        print(
            f"  {way:8} precision {right}/{len(equal)} = {right / max(1, len(equal)):.3f}"
            f"  recall {hits}/{len(near)} = {hits / max(1, len(near)):.3f}"
        )


def main() -> None:
    """Evaluate both signatures on the archives of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=40)
    given = parser.parse_args()
    texts = list(texts_of(given.folder))
    chance = random.Random(5)
    judge("pages of one host", list(pairs_of_hosts(texts, given.most)))
    distinct = list(dict.fromkeys(text for _, text in texts))
    judge("made edits", [(text, other) for text in distinct for other in edited(text, chance)])


if __name__ == "__main__":
    main()
