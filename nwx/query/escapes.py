"""Escaping of user input for the Lucene grammar.

Characters that people type literally have a meaning in the grammar: the colon and slashes of a URL,
a hyphen between words, an apostrophe, a question mark. They are escaped with a backslash or left
out, so that only intended syntax remains.
"""

import re
from dataclasses import dataclass, field

from nwx.errors import ErrorText, QueryError
from nwx.query.fields import resolve_field
from nwx.values.urlkeys import with_scheme
from nwx.values.urls import url_parts

MAX_CHARACTERS = 8_000
MAX_DEPTH = 30
MAX_TOKENS = 1_000

# Compiled by the first query that needs the grammar.
_TOKEN = r"""(?xs)
  (?P<phrase>"(?:[^"\\]|\\.)*")
| (?P<quote>")
| (?P<address>[A-Za-z][A-Za-z0-9+.-]*://[^\s"()]*)
| (?P<range>[\[{]\s*(?:"[^"]*"|[^\s"\[\]{}]+)\s+TO\s+(?:"[^"]*"|[^\s"\[\]{}]+)\s*[\]}])
| (?P<field>[A-Za-z_]+:(?=\S))
| (?P<compare>(?<=:)[<>]=?(?=[^\s()<>=]))
| (?P<alone>(?<!\S)(?:[-+!&|]+)(?!\S))
| (?P<not>(?<![^\s(:])!(?=[^\s!]))
| (?P<sign>(?<![^\s(:])[-+](?=[^\s()+-]|\())
| (?P<open>\()
| (?P<close>\))
| (?P<degree>(?<=[^\s(:~^])[~^](?:\d+(?:\.\d+)?|\.\d+)?(?=[\s)~^]|$))
| (?P<escaped>\\.)
| (?P<space>\s+)
| (?P<word>[^\s"():^~\\\[\]{}<>/'+!-][^\s"():^~\\\[\]{}]*)
| (?P<other>.)
"""
_SPECIAL = re.compile(r"[^\w*?\s]", re.ASCII)
_OPERATORS = ("AND", "OR", "NOT", "TO")
_OPERATOR_NAMES = frozenset(_OPERATORS)
_PLAIN_WORDS = re.compile(r"[A-Za-z0-9]{1,40}(?: [A-Za-z0-9]{1,40}){0,20}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PATTERN_PIECE = re.compile(r"\\.|[*?]+", re.DOTALL)
_HOST = re.compile(r"((?:[\w-]+\.)+[\w-]+|localhost)(?::\d{1,5})?(?:[/?#]|\Z)", re.IGNORECASE)
UNQUOTED_WILDCARD = re.compile(r"\\.|[*?]", re.DOTALL)
"""Matches wildcards, and characters escaped by a backslash."""


@dataclass(slots=True)
class EscapedQuery:
    """A query for the grammar; `places` has the position of each character in the original."""

    text: str = ""
    places: list[int] = field(default_factory=list)

    def add(self, text: str, place: int) -> None:
        """Append the escaped text of the original at position `place`."""
        self.text += text
        self.places += [place] * len(text)

    def place(self, position: int) -> int | None:
        """Return the position in the original of a character, None at the end."""
        return self.places[position] if position < len(self.places) else None


def escape(query: str) -> EscapedQuery:
    """Return a query with everything escaped that is not intended as syntax.

    Raises QueryError on unclosed quotation marks and brackets, and on queries too long or too deep.
    """
    if len(query) > MAX_CHARACTERS:
        raise QueryError.translated(
            "the query has %(count)s characters; at most %(most)s are allowed",
            count=len(query),
            most=MAX_CHARACTERS,
        )
    tamed, opened, after_field = EscapedQuery(), list[int](), False
    only_words = not any(_is_content(match) for match in re.finditer(_TOKEN, query))
    for count, match in enumerate(re.finditer(_TOKEN, query)):
        if count > 2 * MAX_TOKENS:
            raise QueryError.translated(
                "the query has too many words; at most %(most)s are allowed", most=MAX_TOKENS
            )
        _follow_brackets(match, query, opened)
        tamed.add(_tamed(match, query, after_field, only_words), match.start())
        after_field = match.lastgroup == "field" and bool(_field_of(match[0]))
    if opened:
        raise QueryError(ErrorText("this bracket is not closed"), query, opened[-1])
    return tamed


def _is_content(match: re.Match[str]) -> bool:
    return match.lastgroup not in ("space", "alone") and match[0] not in _OPERATORS


def _field_of(token: str) -> str | None:
    return resolve_field(token[:-1])


def _follow_brackets(match: re.Match[str], query: str, opened: list[int]) -> None:
    if match.lastgroup == "quote":
        raise QueryError(ErrorText("this quotation mark is not closed"), query, match.start())
    if match.lastgroup == "open":
        opened.append(match.start())
        if len(opened) > MAX_DEPTH:
            raise QueryError(
                ErrorText(
                    "the brackets are nested too deep; at most %(most)s levels are allowed",
                    most=MAX_DEPTH,
                ),
                query,
                match.start(),
            )
    elif match.lastgroup == "close":
        if not opened:
            raise QueryError(
                ErrorText("this closing bracket has no opening bracket"), query, match.start()
            )
        opened.pop()


def _tamed(match: re.Match[str], query: str, after_field: bool, only_words: bool) -> str:
    token = match[0]
    match match.lastgroup:
        case "word" if token in _OPERATORS and (only_words or token == "TO"):
            return "\\" + token
        case "word" | "phrase" | "range" | "sign" | "open" | "close" | "degree" | "escaped":
            return token
        case "compare":
            return token if after_field else _escape(token)
        case "address":
            return _escape(token).replace("?", "\\?")
        case "field":
            return _tamed_field(match, query, after_field)
        case "alone":
            return {"&&": "AND", "||": "OR"}.get(token, "") if not only_words else ""
        case "not":
            return "-"
        case "space":
            return " "
        case _:
            if token in "[{" and after_field:
                raise QueryError(
                    ErrorText("this range is incomplete; write [LOW TO HIGH]"), query, match.start()
                )
            return _escape(token)


def _tamed_field(match: re.Match[str], query: str, after_field: bool) -> str:
    """Return `name:` as is if it can name a field, else escaped, as in a time of day."""
    token = match[0]
    begins_word = match.start() == 0 or query[match.start() - 1] in " \t\n\r(+-!"
    if begins_word and not after_field:
        return token
    return _escape(token)


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: "\\" + match[0], text)


def plain_words(query: str) -> list[str]:
    """Return the words of a query of only a few plain words, [] for any other query."""
    words = query.split(" ") if _PLAIN_WORDS.fullmatch(query) else []
    return words if _OPERATOR_NAMES.isdisjoint(words) else []


def unescaped(text: str) -> str:
    """Return a text without its escaping backslashes."""
    return _ESCAPE.sub(r"\1", text)


def has_wildcard(word: str) -> bool:
    """Return whether a word has an unescaped asterisk or question mark."""
    return any(match[0] in "*?" for match in UNQUOTED_WILDCARD.finditer(word))


def wildcard_pattern(word: str) -> str:
    """Return a word as a pattern, without needless backslashes and repeated `*`."""
    return _PATTERN_PIECE.sub(_pattern_piece, word)


def _pattern_piece(match: re.Match[str]) -> str:
    piece = match[0]
    if piece[0] == "\\":
        return piece if piece[1] in "*?\\" else piece[1]
    return "?" * piece.count("?") + "*" * ("*" in piece)


def with_address(field: str, text: str) -> tuple[str, str]:
    """Return the field and text to look up: a URL without a scheme is looked up by its urlkey.

    A URL given as a value of host or domain is reduced to that part.
    """
    begin = text.removesuffix("*")
    if field in ("host", "domain") and "://" in begin:
        return field, getattr(url_parts(begin), field)
    if field not in ("url", "urlkey") or UNQUOTED_WILDCARD.search(begin):
        return field, text
    address = with_scheme(begin)
    if field == "url" and _HOST.match(begin):
        field, address = "urlkey", address if address != begin else f"http://{begin}"
    return field, address + text[len(begin) :]
