"""Crawl specifications without the seeds that were purged."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from nwx.engine.access.purger import Purger
from nwx.engine.crawls.crawl_index import CrawlIndex, StoredSpecification
from nwx.steering.specifications.problems import SpecificationError
from nwx.steering.specifications.specification_files import read_specification, write_specification

IsGone = Callable[[str], bool]
"""Tells whether a URL was purged."""

_URL = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SpecificationCounts:
    """How many saved specifications lost seeds, and which still name what was purged."""

    changed: int = 0
    naming: tuple[str, ...] = ()


def remove_seeds(crawls: CrawlIndex, purger: Purger, is_gone: IsGone) -> SpecificationCounts:
    """Take purged seeds out of all saved specifications, earlier ones included.

    A text that had some is written anew; its comments go too. What names a
    purged URL elsewhere, or cannot be read, stays and is reported: it is what
    somebody wrote about a crawl.
    """
    changed, naming = 0, []
    for crawl in crawls.specifications():
        for stored in crawls.versions(crawl.name):
            if not _names(stored.text, is_gone):
                continue
            text = _without_seeds(stored, is_gone)
            if text != stored.text:
                purger.replace_specification(replace(stored, text=text))
                changed += 1
            if _names(text, is_gone):
                naming.append(f"{stored.name} (number {stored.number})")
    return SpecificationCounts(changed, tuple(naming))


def _names(text: str, is_gone: IsGone) -> bool:
    return any(is_gone(found[0]) for found in _URL.finditer(text))


def _without_seeds(stored: StoredSpecification, is_gone: IsGone) -> str:
    try:
        read = read_specification(stored.text, stored.name)
    except SpecificationError:
        return stored.text  # of a release that took more
    seeds = tuple(seed for seed in read.seeds if not is_gone(seed))
    if seeds == read.seeds:
        return stored.text
    kept = replace(read, seeds=seeds)
    return write_specification(kept, "json" if stored.text.lstrip().startswith("{") else "toml")
