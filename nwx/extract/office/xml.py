"""XML as events, by expat: no tree, no entities, nothing fetched.

Names lose their prefixes: the namespaces of transitional, strict and older
forms of a format differ, its local names do not. Expat needs memory for the
depth of nesting and for one tag, which both are bounded here.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol
from xml.parsers import expat

from nwx.extract.limits import MIB
from nwx.extract.office.parts import Parts

Attributes = Mapping[str, str]
"""Values by local name."""

_DEEPEST = 2_000
_LONGEST_TOKEN = 4 * MIB
_LONGEST_FIELD = 10_000


class _DeclaredEntityError(Exception):
    """The XML declares entities, which office files do not, but bombs do."""


class XmlHandler(Protocol):
    """What is told of a part, in its order."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def data(self, text: str) -> None:
        """Take text."""


def read_xml(parts: Parts, name: str, handler: XmlHandler) -> None:
    """Tell a handler what is in a part; broken XML is a problem, what comes before counts."""
    parser, length = _parser(handler), 0
    try:
        for piece in parts.pieces(name):
            parser.Parse(piece, False)
            length += len(piece)
            if length - parser.CurrentByteIndex > _LONGEST_TOKEN:
                limit = _LONGEST_TOKEN // MIB
                parts.problems.append(f"office: {name} has a tag of more than {limit} MiB")
                return
        if name in parts:
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        parts.problems.append(f"office: {name} is no well-formed XML: {error}")
    except _DeclaredEntityError:
        parts.problems.append(f"office: {name} declares entities, the rest was left out")
    except RecursionError:
        parts.problems.append(f"depth: {name} is nested deeper than {_DEEPEST} elements")
    except (LookupError, ValueError) as error:  # of encodings
        parts.problems.append(f"office: {name} cannot be decoded: {error}")


def _parser(handler: XmlHandler) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    depth = 0
    start_of, end_of = handler.start, handler.end

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise RecursionError
        if ":" in name:
            name = name.rpartition(":")[2]
        # `r:id` counts before `id`
        if prefixed := [key for key in attributes if ":" in key]:
            attributes |= {key.rpartition(":")[2]: attributes[key] for key in prefixed}
        start_of(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        end_of(name.rpartition(":")[2] if ":" in name else name)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.data
    parser.EntityDeclHandler = _refuse_entities
    return parser


def _refuse_entities(*_: object) -> None:
    raise _DeclaredEntityError


class FieldReader:
    """Takes the text of named elements; `found` has the first of each name that is not empty."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self.found: dict[str, str] = {}
        self._name = ""
        self._pieces: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin a field."""
        if name in self._names and name not in self.found:
            self._name, self._pieces, self._length = name, [], 0

    def end(self, name: str) -> None:
        """End a field."""
        if name == self._name:
            if text := "".join(self._pieces).strip():
                self.found[name] = text
            self._name = ""

    def data(self, text: str) -> None:
        """Take text where it is that of a field."""
        if self._name and self._length < _LONGEST_FIELD:
            self._pieces.append(text)
            self._length += len(text)
