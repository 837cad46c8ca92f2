"""What is around a link: words in the visible text, and the elements that hold it."""

from nwx.extract.page import Element

_NEAR = 130  # characters on each side of an anchor: some 20 words
_LONGEST_WORD = 30
_LONGEST_NAMES = 100  # characters of the names of one element
_LONGEST = 600  # of those of all elements around a link
_MOST_PARENTS = 600  # as deep as markup may be nested

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

    def of(self, element: Element) -> str:
        """Return names, ids, classes and roles of what is around a link, from the outermost in."""
        parent = element.parent
        around = "" if parent is None else self._around(parent)
        attributes = element.attributes
        relation = (attributes.get("rel") or "")[:_LONGEST_NAMES].lower().split()
        own = " ".join((_named(element), *(f"rel:{name}" for name in relation)))
        return f"{around} {own}".strip()

    def _around(self, element: Element) -> str:
        climbed: list[Element] = []
        known: str | None = None
        node: Element | None = element
        while node is not None and node.tag != "body" and len(climbed) < _MOST_PARENTS:
            known = self._known.get(node.mem_id)
            if known is not None:
                break
            climbed.append(node)
            node = node.parent
        names = known or ""
        for each in reversed(climbed):
            own = _named(each)
            if own:
                names = f"{names} {own}"[-_LONGEST:]
            self._known[each.mem_id] = names
        return names


def _named(element: Element) -> str:
    """Return what an element is called: name, id, classes, role."""
    attributes = element.attributes
    tag = element.tag or ""
    names = "" if tag in _UNNAMED else tag
    for attribute in ("id", "class", "role"):
        if value := attributes.get(attribute):
            names = f"{names} {value[:_LONGEST_NAMES].lower()}"
    return names.strip()
