"""What a page states for machines, in all the ways that are read."""

from dataclasses import dataclass

from pyoxigraph import Triple
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from nwx.extract.charset import decode
from nwx.extract.guard import crowded, disarm
from nwx.extract.html import repaired_html
from nwx.steering.analysis.page_view import LIMITS, PageView
from nwx.steering.structured.draft import TripleDraft
from nwx.steering.structured.json_ld import MOST_SCRIPTS, read_json_ld
from nwx.steering.structured.microdata import read_microdata
from nwx.steering.structured.page_metadata import read_metadata
from nwx.steering.structured.terms import capture_iri, page_iri

_MARKS = (b"itemscope", b"ld+json")
_SCRIPT_TYPE = "application/ld+json"


@dataclass(frozen=True, slots=True)
class StructuredData:
    """The triples of a page, in order and each once, and in words what limits or faults cut."""

    triples: tuple[Triple, ...]
    problems: tuple[str, ...] = ()


def structured_triples(page: PageView) -> list[Triple]:
    """Return the triples that a page states; at most `draft.MOST_TRIPLES`."""
    return list(structured_data(page).triples)


def structured_data(page: PageView) -> StructuredData:
    """Return the triples that a page states in JSON-LD, microdata, OpenGraph and Dublin Core.

    Things without a name are named after the capture. Nothing is fetched,
    and no bytes raise an error.
    """
    draft = TripleDraft(capture_iri(page.url, page.timestamp))
    lower = page.html.lower()
    if any(mark in lower for mark in _MARKS):
        _read_markup(page, draft)
    read_metadata(page, draft)
    return StructuredData(tuple(draft), tuple(draft.problems))


def _read_markup(page: PageView, draft: TripleDraft) -> None:
    markup, _ = disarm(repaired_html(decode(page.html, "", page.charset), ""), LIMITS)
    if crowded(markup):
        draft.complain("markup: a tag of more than 1000 attributes")
        return
    try:
        tree = LexborHTMLParser(markup)
    except SelectolaxError as error:
        draft.complain(f"markup: it cannot be read: {error}")
        return
    base = page_iri(page.url).value
    scripts = [node for node in tree.css("script[type]") if _is_json_ld(node.attributes)]
    if len(scripts) > MOST_SCRIPTS:
        draft.complain(f"json-ld: more than {MOST_SCRIPTS} scripts")
    for script in scripts[:MOST_SCRIPTS]:
        read_json_ld(script.text(), base, draft)
    read_microdata(tree, base, draft)


def _is_json_ld(attributes: dict[str, str | None]) -> bool:
    return (attributes.get("type") or "").strip().lower().startswith(_SCRIPT_TYPE)
