"""The text that a page shows, as Browsertrix takes it from a snapshot of the DOM."""

from typing import Any

_TEXT, _ELEMENT = 3, 1
_SKIPPED = frozenset(("SCRIPT", "STYLE", "HEADER", "FOOTER", "BANNER-DIV", "NOSCRIPT", "TITLE"))


def snapshot_text(snapshot: dict[str, Any], most_characters: int) -> str:
    """Return the text nodes of all documents of a DOMSnapshot, a line each.

    Those directly within elements that are no text of the page are left
    out, as Browsertrix leaves them out.
    """
    strings = snapshot["strings"]
    lines: list[str] = []
    length = 0
    for document in snapshot["documents"]:
        nodes = document["nodes"]
        names, kinds, parents = nodes["nodeName"], nodes["nodeType"], nodes["parentIndex"]
        for index, value in enumerate(nodes["nodeValue"]):
            if value < 0 or kinds[index] != _TEXT:
                continue
            parent = parents[index]
            if parent < 0 or kinds[parent] != _ELEMENT or strings[names[parent]] in _SKIPPED:
                continue
            line = strings[value].strip()
            if line:
                lines.append(line)
                length += len(line) + 1
            if length > most_characters:
                return "\n".join(lines)[:most_characters]
    return "\n".join(lines)
