"""The common output of both HTML parsers, the limits of an extraction, and poor pages."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, Self

from nwx.data_classes import dataclass
from nwx.model import Extract
from nwx.values.media_types import LINKS_ALONE, SOFT_404

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExtractLimits:
    """Limits on how much of a payload is read and kept.

    `seconds` of processor time are checked between steps: a native call cannot be stopped, but the
    other limits bound its input.
    """

    bytes: int = 16 * MIB
    characters: int = 2_000_000  # of text
    links: int = 10_000
    headings: int = 1_000
    depth: int = 512  # of nested elements, as in browsers
    tags: int = 1_000_000
    pages: int = 1_000  # of a PDF
    unpacked_bytes: int = 128 * MIB  # of the parts of an office file
    seconds: float = 20.0
    memory_bytes: int = 512 * MIB  # of the process that reads a PDF


@dataclass(frozen=True, slots=True)
class ExtractPayload:
    """The input of a family's extractor: bytes, their declared metadata, and the limits."""

    data: bytes
    url: str
    content_type: str
    charset: str
    parser: str
    limits: ExtractLimits
    deadline: float
    clock: Callable[[], float] = time.thread_time

    def late(self) -> bool:
        """Return whether the time for this payload is over."""
        return self.clock() > self.deadline


class AttributeLookup(Protocol):
    """The attributes of an element, looked up one by one."""

    def get(self, name: str, /) -> str | None:
        """Return the value of an attribute, None without one."""


class Element(Protocol):
    """An element of a page; of duplicate attributes the first counts."""

    @property
    def tag(self) -> str | None:
        """The name, in lower case."""

    @property
    def mem_id(self) -> int:
        """A number unique within the page."""

    @property
    def parent(self) -> Self | None:
        """The parent element, None for the outermost."""

    @property
    def attributes(self) -> Mapping[str, str | None]:
        """The attribute values by name; None for an attribute without a value."""

    @property
    def attrs(self) -> "AttributeLookup":
        """The same, faster for one value of many."""

    def text(self) -> str:
        """Return the text of the element and its descendants."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A parsed page: visible text with `BLOCK` between blocks, and named elements in order.

    `styles` are inline styles and backgrounds: pairs of source (`STYLE_ELEMENT`, an attribute) and
    CSS, `noscripts` the markup within each `<noscript>`. `tree` keeps the elements alive.
    """

    text: str
    elements: Sequence[tuple[str, Element]]
    tree: object
    styles: Sequence[tuple[str, str]] = ()
    noscripts: Sequence[str] = ()

    def named(self, name: str) -> list[Element]:
        """Return the elements with a name, in order."""
        return [element for tag, element in self.elements if tag == name]

    def without_links(self) -> Self:
        """Return the outline without elements that can have links, which are most of them."""
        elements = [pair for pair in self.elements if pair[0] not in WITH_LINKS]
        return replace(self, elements=elements)


def names_of(text: str) -> frozenset[str]:
    """Return the set of element names in a space-separated text."""
    return frozenset(text.split())


HEADINGS = names_of("h1 h2 h3 h4 h5 h6")
HIDDEN = names_of("script style noscript template title iframe noembed noframes")
CELLS = names_of("td th")
BLOCKS = HEADINGS | names_of(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frameset header hgroup hr html legend li listing "
    "main menu nav ol optgroup option p plaintext pre search section select summary table tbody "
    "textarea tfoot thead tr ul xmp"
)
# Elements that may occur inside a word. Two adjacent elements are separated by a space
# unless both are formatting elements, as links of a menu are.
FORMATTING = names_of(
    "abbr acronym b bdi bdo big code del dfn em font i ins kbd mark nobr s samp small strike "
    "strong sub sup tt u var wbr"
)

STYLE_ELEMENT = "element"
STYLE_ATTRIBUTES = ("style", "background")

WITH_LINKS = names_of(
    "a area audio bgsound body embed form frame iframe img input link object script source track "
    "video"
)
LINKED = names_of("a area")
"""Elements that link to another page."""

WANTED = HEADINGS | WITH_LINKS | names_of("html title meta base")


_SHORT = 1_500  # maximum characters of an error page's text, menus included
_SHORTER = 300
_LEAST_OWN = 25  # characters that are not part of links
_LEAST_LINKS = 3

_ERROR = r"(?:error|errore|erreur|erro|fehler|feil|fel|fout|błąd|ошибка|エラー|错误|錯誤|오류)"
_PHRASES = (
    rf"(?:^|[:|»–—-])\W*{_ERROR}\W*$|^\W*{_ERROR} ?[:|–—-]",
    r"\b404\b.{0,12}\b(?:error|not found)|\berror\W{1,3}404\b|^\W*404\W*$|http 404",
    r"(?:page|file|document|url|site|object|resource|article|address)\b.{0,40}\b(?:not|cannot|could"
    r" not|can't|couldn't|isn't|wasn't)(?: be)? (?:found|available|exist)|no longer (?:exists"
    r"|available)|does(?: not|n't) exist|^\W*(?:page )?not found\W*$",
    r"seite (?:wurde |konnte |ist )?(?:leider )?nicht (?:gefunden|vorhanden|verfügbar)"
    r"|(?:seite|dokument|datei)\b.{0,40}\b(?:existiert nicht|nicht gefunden|nicht mehr)",
    r"page (?:est |n'est |demandée )?(?:introuvable|inexistante|non trouvée)|n'(?:existe|a pas été "
    r"trouvée?)(?: pas| plus)?|(?:page|document)\b.{0,40}\b(?:n'existe|introuvable)",
    r"página (?:no (?:encontrada|existe|disponible)|não (?:encontrada|existe))|no se (?:ha )?"
    r"(?:encontrado|encontró|encuentra)|pagina non (?:trovata|esiste|disponibile)",
    r"pagina (?:is )?niet gevonden|siden (?:blev|ble|kunne) ikke |sidan (?:kunde inte|hittades inte"
    r"|finns inte)|nie (?:została )?znalezion[oay]|strona nie istnieje|страница не найдена"
    r"|не найдено",
    "ページ.{0,12}(?:見つかりません|存在しません)|お探しのページ|找不到(?:网页|页面|該頁)|页面不存在"
    "|페이지를 찾을 수 없",
)
_TOLD = re.compile("|".join(f"(?:{one})" for one in _PHRASES), re.IGNORECASE | re.MULTILINE)


def poor_page(found: Extract) -> tuple[str, ...]:
    """Return which of POOR_PAGES an extract is, judged by its text and links; () if none."""
    content = found.content
    if len(content) > _SHORT:
        return ()
    headlines = "\n".join((found.title, *found.headings[:2]))
    if _TOLD.search(headlines) or (len(content) <= _SHORTER and _TOLD.search(content)):
        return (SOFT_404,)
    linked = [link.text for link in found.links if link.text]
    own = len(content) - sum(len(text) + 1 for text in linked)
    if content and len(linked) >= _LEAST_LINKS and own < _LEAST_OWN and not found.headings:
        return (LINKS_ALONE,)
    return ()
