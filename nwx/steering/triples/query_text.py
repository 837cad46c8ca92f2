"""SPARQL queries made harmless: nothing of other places is asked for.

Updates are no queries: the parser refuses them. `SERVICE` is part of
queries, and would let anybody send requests from this machine, and there is
no option against it. So pyoxigraph is never given a text with this word in
it, wherever that stands.
"""

import re

from nwx.errors import ErrorText
from nwx.steering.triples.triple_store import TripleQueryError

LONGEST_QUERY = 100_000

_WORD = "service"
_STRING = r'''"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^'\\]|\\.|'(?!''))*\'\'\''''
_SHORT_STRING = r""""(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*\'"""
_IRI = r"<[^<>\"{}|^`\\\x00-\x20]*>"
_TOKEN = re.compile(rf"(?:{_STRING}|{_SHORT_STRING}|{_IRI})|(?P<comment>\#[^\n\r]*)", re.DOTALL)
_HIDDEN = re.compile(r"[sS](?=ervice)", re.IGNORECASE)
_FROM = re.compile(r"(?<![?$:\w.-])from\s*(?:<|named\b|[\w.-]*:)", re.IGNORECASE)
_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


def harmless_query(text: str) -> str:
    """Return a query with the same meaning that has no `service` in it.

    In strings and IRIs a letter of the word is written as an escape.
    Should one of them be something else to the parser, the escape is an
    error there. Raises TripleQueryError where the word stands elsewhere.
    """
    _check_length(text)
    escaped = _TOKEN.sub(_escaped, text)
    if _WORD in escaped.lower():
        raise TripleQueryError(
            ErrorText(
                "SERVICE is not allowed, as nothing is fetched; rename variables and "
                "prefixed names with this word in them, or write <IRIs>"
            )
        )
    return escaped


def names_graphs(text: str) -> bool:
    """Return whether a query says with FROM which graphs it is about."""
    return bool(_FROM.search(_TOKEN.sub("<>", text)))


def check_remote_query(text: str) -> None:
    """Raise TripleQueryError for a query that may ask other servers, in whatever spelling."""
    _check_length(text)
    if _WORD in text.lower() or _WORD in _CODE_POINT.sub(_character, text).lower():
        raise TripleQueryError(
            ErrorText("SERVICE is not allowed, nor is this word in anything else")
        )


def _check_length(text: str) -> None:
    if len(text) > LONGEST_QUERY:
        raise TripleQueryError(
            ErrorText("the query has more than %(most)s characters", most=LONGEST_QUERY)
        )
    if not text.strip():
        raise TripleQueryError(ErrorText("the query is empty"))


def _escaped(token: re.Match[str]) -> str:
    if token["comment"] is not None:
        return " "
    return _HIDDEN.sub(lambda letter: f"\\u{ord(letter[0]):04X}", token[0])


def _character(escape: re.Match[str]) -> str:
    number = int(escape[1] or escape[2], 16)
    return chr(number) if number < 0x110000 else "\ufffd"
