"""The analyzer `text` of `mappings/documents.json`, for tantivy.

Elasticsearch's tokenizer `standard` is Lucene's grammar of UAX #29
(StandardTokenizerImpl.jflex) with the tables of Unicode 12.1. The pattern below follows that
grammar rule by rule, so that all engines produce the same tokens. tantivy's regular expressions
run without an automaton and are slow, so this module tokenizes texts, ASCII words by a fast path
and others once per word, lower-cased and folded; tantivy gets the tokens separated by spaces.
English possessives, and the articles before an apostrophe that the mapping lists, are removed as
by Lucene's filters: `children's` is `children`, `l'école` is `ecole`.
"""

import re
from functools import cache, lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from nwx import mappings

ANALYZER = "text-2"
"""The number is raised with each change of the tokens, so that older indices are rebuilt."""

MAX_TOKEN_UNITS = 255
"""The limit, in UTF-16 units, at which Lucene cuts longer tokens."""

_AGE = r"\p{age=12.1}"
_PREPENDED = r"\x{600}-\x{605}\x{6DD}\x{8E2}"
# Letters in current Unicode, but format characters in Lucene's tables.
_ONCE_FORMAT = r"\x{70F}\x{110BD}\x{110CD}"
_EXTEND = rf"[[\p{{wb=Format}}\p{{wb=Extend}}\p{{wb=ZWJ}}]&&{_AGE}]{_PREPENDED}{_ONCE_FORMAT}"
_SOUTH_EAST_ASIAN = (
    r"[[\p{sc=Thai}\p{sc=Lao}\p{sc=Myanmar}\p{sc=Khmer}\p{sc=Tai_Le}\p{sc=New_Tai_Lue}"
    r"\p{sc=Tai_Tham}\p{sc=Tai_Viet}\p{sc=Ahom}]&&[\p{L}\p{M}]]"
    r"\x{109E}\x{109F}\x{19DA}\x{19DE}\x{19DF}\x{1AA0}-\x{1AAD}\x{AA77}-\x{AA79}\x{AADE}\x{AADF}"
    r"\x{1173A}\x{1173B}\x{1173F}"
)

_NARROW_BLANK = "\u202f"  # joins numbers in UAX #29, separates words in Python and tantivy
_NARROW_BLANK_TOKEN = "\ufdd0"
_MIDDLE_SIGNS = (
    ".':,;\u00b7\u0387\u055f\u05f4\u066c\u2018\u2019\u2024\u2027\ufe13\uff07\uff0e\uff1a"
)
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\uff07", "'"))
_CLINGING = re.compile(
    "[\u0300-\u036f\u200b-\u200f\u2060-\u206f\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_THAI = re.compile("[\u0e01-\u0e3a\u0e40-\u0e4e]+")
_KEPT = b"_.':,;\n"
_SIGNS = bytes(
    code if code < 128 and (chr(code).isalnum() or code in _KEPT) else 0x20 for code in range(256)
)
_LOOSE_SIGN = re.compile(rb"[.':,;](?!(?<=[A-Za-z][.':])[A-Za-z]|(?<=[0-9][.',;])[0-9])")
_LOOSE_JOINER = re.compile(rb"(?<![A-Za-z0-9_])_+(?![A-Za-z0-9_])")


def tokenized(text: str) -> str:
    """Return the tokens of a text separated by spaces, as stored in the index."""
    found = whole_tokens(text)
    if "'" in found:
        found = " ".join([_shortened(one) if "'" in one else one for one in found.split(" ")])
    return found.lower() if found.isascii() else _folder().analyze(found)[0]


def whole_tokens(text: str) -> str:
    """Return the tokens of a text separated by spaces, with articles and possessives."""
    if text.isascii():
        found = _ascii_tokens(text.replace("\n", " "))
    else:
        found = _mixed_tokens(text.replace(_NARROW_BLANK, _NARROW_BLANK_TOKEN).split())
    return _with_cuts(found) if _has_long(found) else found


def tokens(text: str) -> list[str]:
    """Return the tokens of a text as stored in the index."""
    return tokenized(text).split()


def query_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a query's text; short ones are cached, as several fields need them."""
    return _kept_tokens(text) if len(text) <= MAX_TOKEN_UNITS else tuple(tokens(text))


@lru_cache(maxsize=1_024)
def _kept_tokens(text: str) -> tuple[str, ...]:
    return tuple(tokens(text))


def fold(text: str) -> str:
    """Return a text lower-cased, folded and without its article, like a token."""
    return _without_article(folded(text))


def folded(text: str) -> str:
    """Return a text lower-cased and folded."""
    return "".join(_folder().analyze(text.replace("İ", "I")))


def _without_article(word: str) -> str:
    article, apostrophe, rest = word.partition("'")
    return rest if apostrophe and article in mappings.elided_articles() else word


@lru_cache(maxsize=131_072)
def _shortened(token: str) -> str:
    """Return a token with an apostrophe without its article and possessive, folded."""
    return _without_article(folded(token).removesuffix("'s"))


@cache
def _folder() -> TextAnalyzer:
    return (
        TextAnalyzerBuilder(Tokenizer.raw())
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .build()
    )


@cache
def text_analyzer() -> TextAnalyzer:
    """Return the analyzer that splits `tokenized` texts for tantivy."""
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def _ascii_tokens(text: str) -> str:
    """Return the tokens of an ASCII text, line breaks kept."""
    kept = _LOOSE_SIGN.sub(b" ", text.encode("ascii").translate(_SIGNS))
    if b"_" in kept:
        kept = _LOOSE_JOINER.sub(b" ", kept)
    return kept.decode("ascii")


def _mixed_tokens(words: list[str]) -> str:
    """Return the tokens of words, not all ASCII."""
    others = [_word_tokens(word) for word in words if not word.isascii()]
    plain = " ".join([word if word.isascii() else "\n" for word in words])
    pieces = [""] * (2 * len(others) + 1)
    pieces[::2] = _ascii_tokens(plain).split("\n")
    pieces[1::2] = others
    return " ".join(pieces)


@lru_cache(maxsize=131_072)
def _short_word_tokens(word: str) -> str:
    return _exact_tokens(word)


def _word_tokens(word: str) -> str:
    """Return the tokens of a run without spaces; long runs are first split at ideographs."""
    if len(word) < 24:
        return _short_word_tokens(word)
    if _THAI.fullmatch(word):
        return word
    if _CLINGING.search(word) or len(runs := _ideograph().split(word)) == 1:
        return _exact_tokens(word)
    runs[::2] = (_short_word_tokens(run) if run else "" for run in runs[::2])
    return " ".join(runs)


@cache
def _ideograph() -> re.Pattern[str]:
    """Return the pattern of ideographs, which takes milliseconds to compile."""
    return re.compile("([\u3041-\u3096\u3400-\u4db5\u4e00-\u9fef])")


def _exact_tokens(text: str) -> str:
    # Lucene lower-cases İ to a bare i, tantivy to an i with a dot above.
    text = text.replace(_NARROW_BLANK_TOKEN, _NARROW_BLANK).replace("İ", "I")
    found = " ".join(_tokenizer().analyze(text)).translate(_APOSTROPHES)
    return found.replace(_NARROW_BLANK, _NARROW_BLANK_TOKEN)


def _has_long(found: str) -> bool:
    """Return whether any token, between spaces, may have to be cut."""
    longest = MAX_TOKEN_UNITS // 2
    start = 0
    while len(found) - start > longest:
        start = found.rfind(" ", start, start + longest + 1) + 1
        if not start:
            return True
    return False


def _with_cuts(found: str) -> str:
    """Return tokens separated by spaces, with long ones cut."""
    return " ".join(
        token if len(token) <= MAX_TOKEN_UNITS // 2 else _cut(token) for token in found.split(" ")
    )


def _cut(token: str) -> str:
    """Return the pieces of a long token separated by spaces; punctuation at the cuts is dropped."""
    pieces = []
    while token := token.lstrip(_MIDDLE_SIGNS):
        length = min(len(token), MAX_TOKEN_UNITS)
        while _units(token[:length]) > MAX_TOKEN_UNITS:
            length -= 1
        pieces.append(token[:length].rstrip(_MIDDLE_SIGNS))
        token = token[len(pieces[-1]) :]
    return " ".join(pieces)


def _units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


@cache
def _tokenizer() -> TextAnalyzer:
    """Return the analyzer for the whole grammar."""
    return TextAnalyzerBuilder(Tokenizer.regex(_token_pattern())).build()


def _token_pattern() -> str:
    """Return the whole grammar, its alternatives ordered so that the longest match wins."""
    south_east_asian = _extended(rf"[[{_SOUTH_EAST_ASIAN}]&&{_AGE}]--[\x{{1A7F}}]") + "+"
    single = _extended(rf"[[\p{{sc=Han}}\p{{sc=Hiragana}}]&&{_AGE}]--\x{{16FE2}}")
    return f"{_word_pattern()}|{_emoji_pattern()}|{south_east_asian}|{single}"


def _word_pattern() -> str:
    """Return the pattern of a word by rules WB5 to WB13b: letters, numbers, Katakana."""
    newer = rf"\x{{2E5}}-\x{{2EB}}\x{{55A}}\x{{58A}}\x{{A708}}-\x{{A716}}{_ONCE_FORMAT}"
    letter = _extended(rf"[\p{{wb=ALetter}}\p{{wb=Hebrew_Letter}}&&{_AGE}]--[{newer}]")
    hebrew = _extended(rf"\p{{wb=Hebrew_Letter}}&&{_AGE}")
    digit = rf"[\p{{wb=Numeric}}&&{_AGE}]--[{_PREPENDED}{_ONCE_FORMAT}\x{{19DA}}]"
    number = _extended(rf"[{digit}]\x{{FF10}}-\x{{FF19}}")
    katakana = _extended(rf"\p{{wb=Katakana}}&&{_AGE}")
    joiner = _extended(rf"\p{{wb=ExtendNumLet}}&&{_AGE}")
    mid_letter = _extended(r"[\p{wb=MidLetter}--\x{55F}]\p{wb=MidNumLet}\p{wb=Single_Quote}")
    mid_number = _extended(r"\p{wb=MidNum}\p{wb=MidNumLet}\p{wb=Single_Quote}\x{FE10}\x{FE14}")
    single, double = _extended(r"\p{wb=Single_Quote}"), _extended(r"\p{wb=Double_Quote}")
    part = (
        f"(?:{katakana}+|(?:{hebrew}(?:{single}|{double}{hebrew})"
        f"|{number}(?:{mid_number}{number})*|{letter}(?:{mid_letter}{letter})*)+)"
    )
    return f"{joiner}*{part}(?:{joiner}+{part})*{joiner}*"


def _emoji_pattern() -> str:
    """Return the pattern of TR51's emoji sequences, as Lucene matches them."""
    cling = rf"[[{_EXTEND}]--[\x{{FE0E}}\x{{FE0F}}]]*"
    apart = rf"[[{_EXTEND}]--[\x{{FE0E}}\x{{FE0F}}\x{{200D}}]]*"
    other = r"\p{wb=Regional_Indicator}0-9#*©®™\x{3030}\x{303D}\p{Emoji_Modifier}"
    reserved = r"\x{1FA6E}-\x{1FFFD}"  # once reserved for emoji, since assigned to other symbols
    emoji = rf"[\p{{Extended_Pictographic}}{reserved}[\p{{Emoji}}--[{other}]]]"
    modified = rf"(?:\p{{Emoji_Modifier_Base}}{cling})?\p{{Emoji_Modifier}}"
    # A joiner stands between two emoji; it does not extend the first.
    joined = rf"(?:(?:{modified}{apart}|{emoji}{apart}\x{{FE0F}}?)\x{{200D}}+)*"
    last = rf"(?:{modified}{cling}|{emoji}{cling}\x{{FE0F}}?)"
    lead = rf"(?:\x{{200D}}+(?:\p{{Emoji_Modifier_Base}}{cling}\p{{Emoji_Modifier}}|{emoji}){apart}"
    tags = r"(?:[\x{E0020}-\x{E007E}]+\x{E007F})?"
    sequence = rf"{joined}{last}{tags}|{lead}\x{{FE0F}}?(?:\x{{200D}}+{joined}{last}|{cling}))"
    key_cap = rf"[#*]{cling}\x{{FE0F}}?\x{{20E3}}{cling}"
    flag = _extended(r"\p{wb=Regional_Indicator}") + "{2}"
    return f"{sequence}|{key_cap}|{flag}"


def _extended(characters: str) -> str:
    """Return the pattern of a character and the marks that extend it (WB4)."""
    return rf"(?:[{characters}][{_EXTEND}]*)"


_STOP_WORDS = {
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}
"""The languages for which tantivy has stop words: the lists of the Snowball project."""


def written_words(text: str, language: str = "") -> dict[str, str]:
    """Return the lower-case words of a text by token, without the stop words of `language`.

    Articles and possessives at an apostrophe are removed, as in tokens: `l'été` is `été`.
    """
    words = dict.fromkeys(map(_own_word, whole_tokens(text).lower().split()))
    kept = list(words)
    if language in _STOP_WORDS:
        kept = _without_stop_words(_STOP_WORDS[language]).analyze(" ".join(kept))
    return {word if word.isascii() else folded(word): word for word in kept}


def _own_word(word: str) -> str:
    if "'" not in word:
        return word
    word = word.removesuffix("'s")
    article, _, rest = word.partition("'")
    return rest if rest and folded(article) in mappings.elided_articles() else word


@cache
def _without_stop_words(language: str) -> TextAnalyzer:
    stop_words = Filter.stopword(language)
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(stop_words).build()
