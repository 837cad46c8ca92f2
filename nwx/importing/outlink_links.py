"""Outlinks of metadata records as links of documents."""

from collections.abc import Iterable
from dataclasses import replace

from nwx.extract.limits import ExtractLimits
from nwx.extract.link_elements import kind_of_attribute
from nwx.extract.links import Resolver
from nwx.model import Extract, Link
from nwx.values import link_kinds as kinds
from nwx.warc.enrichment.outlinks import Outlink

LINKS_OF_A_DOCUMENT = ExtractLimits().links
"""So many links has a document, those of metadata records included."""

CUT = "links: a metadata record has more outlinks than are read"
"""The problem of a document whose metadata record is too long."""

_EMBED, _REDIRECT = "E", "R"


def outlink_links(url: str, outlinks: Iterable[Outlink]) -> list[Link]:
    """Return the outlinks of a capture of `url` as links without text, each URL once."""
    resolver = Resolver(url)
    found: dict[str, str] = {}
    for outlink in outlinks:
        if absolute := resolver.absolute(outlink.url):
            found.setdefault(absolute, _kind(outlink))
    return [Link(absolute, "", kind) for absolute, kind in found.items()]


def with_links(extract: Extract, links: Iterable[Link], problem: str = "") -> Extract:
    """Return an extract with those of the links whose URL it does not have, the same if none.

    `problem` is told where a link was added.
    """
    known = {link.url for link in extract.links}
    new = [link for link in links if link.url not in known]
    if not new:
        return extract
    room = max(0, LINKS_OF_A_DOCUMENT - len(extract.links))
    problems = [problem] if problem else []
    if len(new) > room:
        problems.append(f"links: more than {LINKS_OF_A_DOCUMENT} with those of metadata records")
    added = (told for told in problems if told not in extract.problems)
    return replace(
        extract, links=(*extract.links, *new[:room]), problems=(*extract.problems, *added)
    )


def _kind(outlink: Outlink) -> str:
    """Return the kind of a link by the element and attribute, or else by the hop."""
    element, _, attribute = outlink.context.lower().partition("/@")
    if kind := kind_of_attribute(element, attribute):
        return kind
    if outlink.hop == _EMBED:
        return kinds.CSS if outlink.context.startswith("=") else kinds.MEDIA
    if outlink.hop == _REDIRECT:
        return kinds.REFRESH
    return kinds.OUTLINK
