"""Relations between the parts of an Office Open XML file, and to what lies outside (OPC)."""

from dataclasses import dataclass, field
from posixpath import basename, dirname, join, normpath

from nwx.extract.office.parts import Parts
from nwx.extract.office.xml import Attributes, read_xml

_MOST = 50_000


@dataclass(slots=True)
class Relations:
    """The relations of a part: names of other parts, and addresses, both by id.

    `kinds` has the last word of the type of each related part (`worksheet`).
    """

    parts: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the names of the parts of these kinds, kind by kind."""
        return [self.parts[id] for kind in kinds for id in self.parts if self.kinds[id] == kind]


class _Reader:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.found = Relations()

    def start(self, name: str, attributes: Attributes) -> None:
        if name != "Relationship" or len(self.found.kinds) >= _MOST:
            return
        id, target = attributes.get("Id", ""), attributes.get("Target", "")
        self.found.kinds[id] = attributes.get("Type", "").rpartition("/")[2]
        if attributes.get("TargetMode") == "External":
            self.found.addresses[id] = target
        else:
            self.found.parts[id] = normpath(join("/", self._folder, target)).lstrip("/")

    def end(self, name: str) -> None:
        pass

    def data(self, text: str) -> None:
        pass


def relations_of(parts: Parts, name: str) -> Relations:
    """Return the relations of a part, those of the file for ""."""
    reader = _Reader(dirname(name))
    read_xml(parts, join(dirname(name), "_rels", f"{basename(name)}.rels"), reader)
    return reader.found
