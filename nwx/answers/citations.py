"""Citations of captures as PWID, Memento, BibTeX, RIS and CSL-JSON."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from nwx.errors import TimestampError
from nwx.values.timestamps import parse_timestamp

_TEX = re.compile(r"([\\{}$&#%_^~])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")
_TEX_SIGNS = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
_NO_KEY = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation of a capture.

    `pwid` is the persistent web identifier (draft-pwid-urn-specification, Zierau), `memento` the
    replay address, "" without playback.
    """

    url: str
    moment: datetime
    title: str
    archive: str
    pwid: str
    memento: str

    @property
    def key(self) -> str:
        """The citation key in a bibliography."""
        host = self.pwid.split(":", 3)[2]
        return _NO_KEY.sub("-", f"{host} {self.moment:%Y%m%d%H%M%S}".lower()).strip("-")

    @property
    def address(self) -> str:
        """The address for readers: in the archive, else the original URL."""
        return self.memento or self.url

    @property
    def bibtex(self) -> str:
        """The entry of a BibTeX file."""
        fields = {
            "title": self.title,
            "url": self.address,
            "howpublished": f"Captured {self.moment:%Y-%m-%d} from {self.url}, "
            f"web archive {self.archive}",
            "note": self.pwid,
            "year": f"{self.moment:%Y}",
        }
        lines = "".join(f"  {name} = {{{_tex(name, value)}}},\n" for name, value in fields.items())
        return f"@misc{{{self.key},\n{lines}}}\n"

    @property
    def ris(self) -> str:
        """The record of a RIS file."""
        fields = (
            ("TY", "ELEC"),
            ("ID", self.key),
            ("TI", self.title),
            ("UR", self.address),
            ("PY", f"{self.moment:%Y}"),
            ("DA", f"{self.moment:%Y/%m/%d}/"),
            ("DB", self.archive),
            ("AN", self.pwid),
            ("N1", f"Captured {self.moment:%Y-%m-%dT%H:%M:%SZ} from {self.url}"),
            ("ER", ""),
        )
        return "".join(f"{name}  - {_CONTROL.sub(' ', value)}\n" for name, value in fields)

    @property
    def csl_json(self) -> str:
        """The CSL-JSON item, in a list as reference managers expect it."""
        date = {"date-parts": [[self.moment.year, self.moment.month, self.moment.day]]}
        item = {
            "id": self.key,
            "type": "webpage",
            "title": self.title,
            "URL": self.address,
            "issued": date,
            "archive": self.archive,
            "archive_location": self.pwid,
            "note": f"original URL: {self.url}",
        }
        return json.dumps([item], indent=1) + "\n"


CITATION_FORMS: Mapping[str, Callable[[Citation], str]] = {
    "pwid": lambda one: one.pwid + "\n",
    "memento": lambda one: one.address + "\n",
    "bibtex": lambda one: one.bibtex,
    "ris": lambda one: one.ris,
    "csl-json": lambda one: one.csl_json,
}
"""The citation formats by name."""


def cite(
    url: str, timestamp: str, title: str, archive: str, address: str, memento: str
) -> Citation | None:
    """Return the citation of a capture, None if its timestamp is invalid.

    `archive` is the name of the archive; "" means the host of its public `address`, which also
    names it in the PWID.
    """
    try:
        moment = parse_timestamp(timestamp)
    except TimestampError:
        return None
    host = urlsplit(address).hostname or archive or "nwx"
    pwid = f"urn:pwid:{host}:{moment:%Y-%m-%dT%H:%M:%SZ}:page:{_CONTROL.sub(' ', url)}"
    return Citation(url, moment, title or url, archive or host, pwid, memento)


def _tex(name: str, value: str) -> str:
    """Return a text escaped for BibTeX; in addresses, only braces and backslashes are encoded."""
    value = _CONTROL.sub(" ", value)
    if name == "url":
        return value.replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C")
    return _TEX.sub(lambda match: _TEX_SIGNS.get(match[0], "\\" + match[0]), value)
