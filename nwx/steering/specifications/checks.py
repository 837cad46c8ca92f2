"""Whether the index crawls of an archive agrees with itself and with the documents."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from nwx.engine.base import Engine
from nwx.engine.crawls.entries import score_id, specification_id
from nwx.model import IndexName
from nwx.steering.specifications.problems import SpecificationError
from nwx.steering.specifications.specification_store import specification_of

CrawlProblem = tuple[str, str, str]
"""One word for the cause, the id of an entry, and what is wrong."""

_AT_ONCE = 1_000


def check_crawls(engine: Engine) -> Iterator[CrawlProblem]:
    """Yield what is wrong with the index crawls of an archive, nothing where there are none.

    Saved specifications can be read, documents that have scores are there,
    and there are as many scores and linked URLs as were counted.
    """
    crawls = engine.crawl_index()
    for last in crawls.specifications():
        numbers = set()
        for stored in crawls.versions(last.name):
            numbers.add(stored.number)
            try:
                specification_of(stored)
            except SpecificationError as error:
                id = specification_id(stored.name, stored.number)
                yield "specification", id, f"cannot be read: {error.problems[0]}"
        if lacking := last.number - len(numbers):
            id = specification_id(last.name, last.number)
            yield "specification", id, f"{lacking} that were saved before are missing"
    found: Counter[tuple[str, str, str]] = Counter()
    entries = iter(engine.scan(IndexName.CRAWLS))
    while stretch := list(islice(entries, _AT_ONCE)):
        found.update((one["kind"], one["crawl"], one["version"]) for one in stretch)
        yield from _undocumented(engine, [one for one in stretch if one["kind"] == "score"])
    yield from _miscounted(engine, found)


def _undocumented(engine: Engine, scores: list[Mapping[str, Any]]) -> Iterator[CrawlProblem]:
    ids = [one["document_id"] for one in scores]
    known = engine.known(ids) if ids else {}
    for one in scores:
        if one["document_id"] not in known:
            yield "undocumented", one["id"], "the document that it is about is missing"


def _miscounted(engine: Engine, found: Counter[tuple[str, str, str]]) -> Iterator[CrawlProblem]:
    for crawl in {crawl for _, crawl, _ in found}:
        for one in engine.crawl_index().analysed_versions(crawl):
            held = found["score", crawl, one.version], found["link", crawl, one.version]
            if held != (one.documents, one.urls):
                message = (
                    f"{one.documents} documents and {one.urls} linked URLs were counted, "
                    f"{held[0]} and {held[1]} are held"
                )
                yield "count", score_id(crawl, one.version), message
