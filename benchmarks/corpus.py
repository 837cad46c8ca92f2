"""Synthetic archives: words, sites and dates distributed as in real ones."""

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import TypeVar

from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, Document, Extract
from nwx.values.urlkeys import urlkey

T = TypeVar("T")

_TYPES = (("html", 80), ("pdf", 6), ("image", 8), ("text", 4), ("other", 2))
_LANGUAGES = (("en", 50), ("de", 15), ("fr", 15), ("es", 10), ("", 10))
_STATUSES = ((200, 88), (404, 8), (301, 3), (500, 1))


class Words:
    """A vocabulary with Zipf-distributed words."""

    def __init__(self, size: int, random_source: random.Random) -> None:
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = [
            "".join(random_source.choices(letters, k=random_source.randint(3, 10)))
            for _ in range(size)
        ]
        self._weights = list(accumulate(1 / rank for rank in range(1, size + 1)))

    def draw(self, count: int, random_source: random.Random) -> list[str]:
        """Return `count` random words by their frequencies."""
        return random_source.choices(self.words, cum_weights=self._weights, k=count)


def batches(documents: int, words: Words, seed: int = 1, size: int = 1000) -> Iterator[Batch]:
    """Yield batches of documents, three in ten of them captured more than once."""
    source = random.Random(seed)
    made: list[Document] = []
    dates: list[Dates] = []
    for number in range(documents):
        document = _document(number, words, source)
        made.append(document)
        dates.append(_dates(document.capture, source))
        if len(made) == size or number == documents - 1:
            yield Batch(tuple(made), tuple(d.capture for d in made), tuple(dates))
            made, dates = [], []


def _document(number: int, words: Words, source: random.Random) -> Document:
    site = min(int(source.paretovariate(0.9)), 3000)
    domain = f"site{site}.example"
    url = f"http://www.{domain}/{words.words[number % len(words.words)]}/{number}"
    digest = "sha1:" + f"{number:032X}".translate(str.maketrans("0189", "GHIJ"))
    capture = Capture(
        collection="bench",
        source_file=f"bench-{number // 10_000:05}.warc.gz",
        source_file_offset=number % 10_000 * 5_000,
        record_length=4_900,
        record_type="response",
        url=url,
        urlkey=urlkey(url),
        host=f"www.{domain}",
        domain=domain,
        public_suffix="example",
        timestamp=_timestamp(source),
        digest=digest,
        document_id=document_id(document_key(url, digest)),
        status_code=_one(_STATUSES, source),
        content_type="text/html",
        content_type_norm=_one(_TYPES, source),
        content_length=source.randint(500, 90_000),
    )
    extract = Extract(
        title=" ".join(words.draw(6, source)),
        content=" ".join(words.draw(source.randint(50, 750), source)),
        content_language=_one(_LANGUAGES, source),
    )
    return Document(capture, extract)


def _one(weighted: tuple[tuple[T, int], ...], source: random.Random) -> T:
    return source.choices([v for v, _ in weighted], weights=[w for _, w in weighted])[0]


def _timestamp(source: random.Random) -> str:
    return (
        f"{source.randint(2008, 2024)}{source.randint(1, 12):02}{source.randint(1, 28):02}"
        f"{source.randint(0, 23):02}{source.randint(0, 59):02}{source.randint(0, 59):02}"
    )


def _dates(capture: Capture, source: random.Random) -> Dates:
    seen = {(capture.timestamp, capture.collection)}
    if source.random() < 0.3:
        seen |= {(_timestamp(source), capture.collection) for _ in range(source.randint(1, 9))}
    return Dates(document_key(capture.url, capture.digest), tuple(sorted(seen)))
