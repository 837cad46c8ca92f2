"""How a capture is cited: PWID, Memento, BibTeX."""

import re
from dataclasses import dataclass

from nwx.errors import TimestampError
from nwx.values.timestamps import parse_timestamp

_TEX = re.compile(r"([\\{}$&#%_^~])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TEX_SIGNS = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
_NO_KEY = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Citation:
    """A capture as it is cited.

    `pwid` is the persistent web identifier (draft-pwid-urn-specification,
    Zierau), `memento` the address at which it is played, "" without
    playback.
    """

    pwid: str
    memento: str
    bibtex: str


def cite(
    url: str, timestamp: str, title: str, archive: str, archive_host: str, memento: str
) -> Citation | None:
    """Return how a capture is cited, None where its timestamp names no moment.

    `archive` is the name of the archive, `archive_host` that by which a PWID
    names it.
    """
    try:
        moment = parse_timestamp(timestamp)
    except TimestampError:
        return None
    pwid = f"urn:pwid:{archive_host}:{moment:%Y-%m-%dT%H:%M:%SZ}:page:{url}"
    fields = {
        "title": title or url,
        "url": memento or url,
        "howpublished": f"Captured {moment:%Y-%m-%d} from {url}, web archive {archive}",
        "note": pwid,
        "year": f"{moment:%Y}",
    }
    lines = "".join(f"  {name} = {{{_tex(name, value)}}},\n" for name, value in fields.items())
    key = _NO_KEY.sub("-", f"{archive_host} {timestamp}".lower()).strip("-")
    return Citation(pwid, memento, f"@misc{{{key},\n{lines}}}\n")


def _tex(name: str, value: str) -> str:
    """Return a text as BibTeX takes it; addresses stay as they are but for braces."""
    value = _CONTROL.sub(" ", value)
    if name == "url":
        return value.replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C")
    return _TEX.sub(lambda match: _TEX_SIGNS.get(match[0], "\\" + match[0]), value)
