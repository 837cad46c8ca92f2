"""Strict checks of a page's HTML."""

import json
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "input", "br", "hr", "img", "source", "path", "rect", "circle"}
SCRIPTS = ("/static/", "/explore/vega.js")
REFERENCES = ("for", "aria-labelledby", "aria-describedby", "aria-controls")


@dataclass
class Element:
    """A tag with its attributes and the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    parents: tuple[str, ...] = ()


@dataclass
class Page(HTMLParser):
    """A strictly parsed page: `faults` lists errors that no page may have."""

    source: str
    elements: list[Element] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.source)
        self.close()
        self.faults += [f"<{element.tag}> is never closed" for element in self._open]
        self._check_ids()
        self._check_labels()
        self._check_headings()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        attributes = {name: value or "" for name, value in attrs}
        if len(set(names)) < len(names):
            self.faults.append(f"<{tag}> has an attribute twice")
        self.faults += [f"<{tag}> has {name}" for name in names if name.startswith("on")]
        if "style" in attributes or tag == "style":
            self.faults.append(f"<{tag}> has a style of its own")
        data = attributes.get("type") == "application/json"
        if tag == "script" and not data and not attributes.get("src", "").startswith(SCRIPTS):
            self.faults.append("<script> without a source of our own")
        parents = tuple(element.tag for element in self._open)
        element = Element(tag, attributes, parents=parents)
        self.elements.append(element)
        if tag == "img":
            self.handle_data(attributes.get("alt", ""))
            self.faults += [] if "alt" in attributes else ["an image has no text"]
        if tag not in VOID:
            self._open.append(element)
        if tag == "a" and "a" in parents:
            self.faults.append("a link stands in a link")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self._open or self._open[-1].tag != tag:
            self.faults.append(f"</{tag}> closes {self._open[-1].tag if self._open else 'nothing'}")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements of a tag with these attributes; `class_` is one of their classes."""
        wanted = attributes.pop("class_", None)
        return [
            element
            for element in self.elements
            if element.tag == tag
            and (wanted is None or wanted in element.attributes.get("class", "").split())
            and all(element.attributes.get(name) == value for name, value in attributes.items())
        ]

    def _check_ids(self) -> None:
        ids = Counter(e.attributes["id"] for e in self.elements if "id" in e.attributes)
        self.faults += [
            f"the id {name} stands {count} times" for name, count in ids.items() if count > 1
        ]
        for element in self.elements:
            for name in REFERENCES:
                for target in element.attributes.get(name, "").split():
                    if target not in ids:
                        self.faults.append(
                            f"{name} of <{element.tag}> names {target}, which is not there"
                        )
            target = element.attributes.get("href", "")
            if target.startswith("#") and target[1:] not in ids:
                self.faults.append(f"a link leads to {target}, which is not there")

    def _check_labels(self) -> None:
        labelled = {e.attributes.get("for") for e in self.all("label") if e.text.strip()}
        for element in self.all("input"):
            hidden = element.attributes.get("type") == "hidden"
            named = element.attributes.get("id") in labelled or "aria-label" in element.attributes
            if not (hidden or named):
                self.faults.append(f"the input {element.attributes} has no label")
        for element in [*self.all("a"), *self.all("button")]:
            if not element.text.strip():
                self.faults.append(f"<{element.tag} {element.attributes}> has no text")

    def _check_headings(self) -> None:
        if len(self.all("h1")) != 1:
            self.faults.append(f"{len(self.all('h1'))} headings of the first rank")
        if not (self.all("title") and self.all("title")[0].text.strip()):
            self.faults.append("no title")
        if not self.all("html")[0].attributes.get("lang"):
            self.faults.append("no language")


def chart_rows(page: str) -> list[dict[str, Any]]:
    """Return the data rows of a page's chart."""
    spec = page.partition('id="chart-spec" type="application/json">')[2].partition("</script>")[0]
    rows: list[dict[str, Any]] = json.loads(spec)["data"]["values"]
    return rows
