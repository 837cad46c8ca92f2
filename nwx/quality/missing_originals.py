"""Originals that revisits refer to and that are in no file of the archive."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from nwx.engine.base import Engine
from nwx.engine.capture_index import nearest_captures
from nwx.links.missing_urls import is_redirect
from nwx.model import Capture
from nwx.values.digests import is_payload

_REVISIT = "revisit"
_NOT_MODIFIED = 304
_LOOKED_AT = 100
_END = chr(0x10FFFF)


class WantedOriginal(NamedTuple):
    """A capture that revisits refer to; `timestamp` is "" if they do not name its date."""

    url: str
    timestamp: str
    digest: str

    def __str__(self) -> str:
        return " ".join(filter(None, (self.timestamp, self.url, self.digest)))


@dataclass(frozen=True, slots=True)
class MissingOriginal:
    """A wanted original that is in no file, and the number of captures that refer to it."""

    url: str
    timestamp: str
    digest: str
    revisits: int


def missing_originals(engine: Engine) -> Iterator[MissingOriginal]:
    """Yield the missing originals of an archive's revisits, most revisits first."""
    found = Counter(filter(None, (wanted_original(engine, one) for one in _revisits(engine))))
    for wanted, revisits in sorted(found.items(), key=lambda each: (-each[1], each[0])):
        yield MissingOriginal(*wanted, revisits)


def _revisits(engine: Engine) -> Iterator[Capture]:
    return (one for one in engine.captures("", _END) if one.record_type == _REVISIT)


def wanted_original(engine: Engine, capture: Capture) -> WantedOriginal | None:
    """Return the missing original of a capture, None if the capture can be played."""
    status = capture.status_code
    if capture.record_type != _REVISIT or not is_payload(capture.digest):
        return None
    if is_redirect(status) and status != _NOT_MODIFIED:
        return None
    if capture.digest:
        held = engine.captures_by_digest(capture.digest)
    else:
        held = engine.originals_of(capture)
    if next(held, None) is not None:
        return None
    url = capture.refers_to_url or capture.url
    return WantedOriginal(url, capture.refers_to_timestamp, capture.digest)


def wanted_by_keys(
    engine: Engine, urlkeys: Iterable[str], timestamp: str = ""
) -> dict[str, WantedOriginal]:
    """Return the missing originals of urlkeys whose captures are all revisits without one.

    It is the original of the capture nearest to `timestamp`, or of the first. Urlkeys with a
    playable capture are left out.
    """
    found = {}
    for key in urlkeys:
        captures = list(islice(engine.captures(key), _LOOKED_AT))
        near = nearest_captures(captures, timestamp, _LOOKED_AT) if timestamp else captures
        wanted = [wanted_original(engine, one) for one in near]
        if wanted and None not in wanted:
            found[key] = wanted[0]
    return {key: one for key, one in found.items() if one}
