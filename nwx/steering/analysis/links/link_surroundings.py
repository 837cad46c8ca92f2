"""What is around a link: words in the visible text, and the elements that hold it."""

from collections.abc import Mapping

from nwx.extract.page import Element

_NEAR = 130  # characters on each side of an anchor: some 20 words
_LONGEST_WORD = 30
_LONGEST_NAMES = 100  # characters of the names of one element
_LONGEST = 600  # of those of all elements around a link
_MOST_PARENTS = 600  # as deep as markup may be nested

_NAMING = ("id", "class")
_UNNAMED = frozenset(
    {"html", "-document", "div", "span", "tbody", "tr", "b", "i", "font", "center"}
)


def words_around(content: str, start: int, length: int) -> tuple[int, int]:
    """Return where the words around an anchor begin and end, (-1, -1) where it is not known.

    The anchor begins at `start` and has about `length` characters.
    """
    if start < 0:
        return -1, -1
    first = max(0, start - _NEAR)
    if first:
        blank = content.find(" ", first, min(first + _LONGEST_WORD, start))
        first = blank + 1 or first
    last = min(len(content), start + length + _NEAR)
    if last < len(content):
        blank = content.rfind(" ", max(last - _LONGEST_WORD, start + length), last)
        last = blank if blank >= 0 else last
    return first, last


class Surroundings:
    """The elements around the links of one page, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, element: Element, attributes: Mapping[str, str | None]) -> str:
        """Return names, ids, classes and roles of what is around a link, from the outermost in.

        Those of the link itself are at the end; `attributes` are the link's.
        """
        names = self._around(element.parent)
        if own := _names(element.tag or "", attributes):
            names = f"{names} {own}"
        if relation := attributes.get("rel"):
            names += "".join(f" rel:{name}" for name in relation[:_LONGEST_NAMES].lower().split())
        return names.strip()

    def _around(self, element: Element | None) -> str:
        climbed: list[tuple[int, Element]] = []
        names = ""
        while element is not None and len(climbed) < _MOST_PARENTS:
            number = element.mem_id
            if (known := self._known.get(number)) is not None:
                names = known
                break
            if element.tag == "body":
                break
            climbed.append((number, element))
            element = element.parent
        for number, each in reversed(climbed):
            if own := _names(each.tag or "", each.attributes):
                names = f"{names} {own}"[-_LONGEST:]
            self._known[number] = names
        return names


def _names(tag: str, attributes: Mapping[str, str | None]) -> str:
    """Return what an element is called: name, id, classes, role."""
    names = "" if tag in _UNNAMED else tag
    if attributes:
        for attribute in _NAMING:
            if value := attributes.get(attribute):
                names += f" {value[:_LONGEST_NAMES].lower()}"
        if value := attributes.get("role"):
            names += f" role:{value[:_LONGEST_NAMES].lower()}"
    return names
