"""Captures that archives hold, for comparisons of CDX files with them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.cdx.rows import CdxRow
from nwx.engine.open import is_server, open_engine
from nwx.model import IndexName
from nwx.settings import Settings, load_settings

_SHOWN_EVERY = 1_000


def is_archive(place: str) -> bool:
    """Return whether a place is a folder or the address of a search server."""
    return is_server(place) or Path(place).is_dir()


def held_lines(
    settings: Settings | None, archives: Sequence[str], progress: ShowProgress
) -> Iterator[CdxRow]:
    """Yield a line for each capture that archives hold."""
    settings = settings or load_settings({})
    for place in archives:
        with open_engine(replace(settings, engine=place), read_only=True) as engine:
            total = engine.count(IndexName.CAPTURES)
            for number, entry in enumerate(engine.scan(IndexName.CAPTURES)):
                if not number % _SHOWN_EVERY:
                    progress(WorkProgress("reading what is held", number, max(number, total)))
                yield CdxRow(
                    urlkey=entry["urlkey"],
                    timestamp=entry["timestamp"],
                    url=entry["url"],
                    digest=entry.get("digest", ""),
                )
