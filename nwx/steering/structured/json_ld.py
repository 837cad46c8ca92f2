"""JSON-LD of a page, by pyoxigraph's parser. Contexts of other addresses are never fetched.

That of schema.org, which most pages name, is known here. Where another is
named, what it would have explained is left out.
"""

import json
import re
from string import whitespace
from typing import Any

from pyoxigraph import RdfFormat, parse

from nwx.steering.structured.draft import TripleDraft
from nwx.steering.structured.terms import SCHEMA

MOST_SCRIPTS = 50
LONGEST_SCRIPT = 512 << 10
_MOST_VALUES = 5_000
_DEEPEST = 24
_LONGEST_TEXT = 4_000

_IRI_TERMS = (
    "url sameAs image logo thumbnailUrl contentUrl embedUrl mainEntityOfPage isPartOf item "
    "license acceptsReservations additionalType relatedLink significantLink"
)
SCHEMA_CONTEXT = {
    "@vocab": SCHEMA,
    **{name: {"@id": SCHEMA + name, "@type": "@id"} for name in _IRI_TERMS.split()},
}
"""As much of the context of schema.org as matters: its terms, and those that are addresses."""

_SCHEMA_ORG = re.compile(r"https?://(?:(?:www\.)?schema\.org\b|schema\.googleapis\.com)")
_STREAMS = re.compile(r"https?://www\.w3\.org/ns/activitystreams")
_KNOWN_CONTEXTS: tuple[tuple[re.Pattern[str], dict[str, Any]], ...] = (
    (_SCHEMA_ORG, SCHEMA_CONTEXT),
    (_STREAMS, {"@vocab": "https://www.w3.org/ns/activitystreams#"}),
)
_WRAPPING = re.compile(r"<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[")
_WRAPPING_END = re.compile(r"(?:-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>)\Z")
_BEHIND = whitespace + ";"


class _LargeScriptError(Exception):
    """A script with more values, or nested deeper, than are read."""


def read_json_ld(text: str, url: str, draft: TripleDraft) -> None:
    """Add the triples of one script to a draft."""
    if len(text) > LONGEST_SCRIPT:
        draft.complain(f"json-ld: a script has more than {LONGEST_SCRIPT} characters")
        return
    try:
        # Line breaks in texts are wrong, and common.
        value = json.loads(_unwrapped(text), strict=False)
        cleaned = json.dumps(_Cleaning(draft).value(value, 0))
        quads = parse(
            cleaned,
            format=RdfFormat.JSON_LD,
            base_iri=url,
            lenient=True,
            rename_blank_nodes=True,  # those of one script are not those of another
        )
        for quad in quads:
            draft.add_unchecked(quad.triple)
            if draft.is_cut:
                break
    except _LargeScriptError:
        limits = f"more than {_MOST_VALUES} values, or nested more than {_DEEPEST} deep"
        draft.complain(f"json-ld: a script has {limits}")
    except RecursionError:
        draft.complain(f"json-ld: a script is nested more than {_DEEPEST} deep")
    except (ValueError, SyntaxError) as error:
        draft.complain(f"json-ld: a script cannot be read: {str(error)[:100]}")


def _unwrapped(text: str) -> str:
    """Return a script without the comments that old browsers needed around it."""
    text = text.strip()
    if opening := _WRAPPING.match(text):
        text = text[opening.end() :]
    # Stripped without an expression: that would try all spaces in a text of nothing else.
    return _WRAPPING_END.sub("", text.rstrip(_BEHIND)).rstrip(_BEHIND)


class _Cleaning:
    """Makes JSON-LD bounded, with the contexts that are known in the place of their addresses."""

    def __init__(self, draft: TripleDraft) -> None:
        self._draft = draft
        self._values = 0

    def value(self, value: Any, depth: int) -> Any:
        """Return a value without what must not be read."""
        self._values += 1
        if self._values > _MOST_VALUES or depth > _DEEPEST:
            raise _LargeScriptError
        if isinstance(value, dict):
            return {
                name: self._context(inner, depth + 1)
                if name == "@context"
                else self.value(inner, depth + 1)
                for name, inner in value.items()
                if name != "@import"
            }
        if isinstance(value, list):
            return [self.value(inner, depth + 1) for inner in value]
        return value[:_LONGEST_TEXT] if isinstance(value, str) else value

    def _context(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            for pattern, known in _KNOWN_CONTEXTS:
                if pattern.match(value.strip()):
                    return known
            self._draft.complain(f"json-ld: the context {value[:100]!r} is not fetched")
            return {}
        if isinstance(value, list):
            return [self._context(inner, depth + 1) for inner in value]
        if isinstance(value, dict):
            return {
                name: self.value(inner, depth + 1)
                for name, inner in value.items()
                if not (name == "@import" or (isinstance(inner, dict) and "@context" in inner))
            }
        return value
