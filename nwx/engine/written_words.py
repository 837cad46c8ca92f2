"""Words as they are written: with accents, without stop words, by the tokens of the index."""

from nwx import mappings
from nwx.engine.analyzer import folded, stop_word_filter, whole_tokens

_LANGUAGES = {
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
"""The languages whose stop words tantivy knows: the lists of the Snowball project."""


def written_words(text: str, language: str = "") -> dict[str, str]:
    """Return the words of a text in lower case by their tokens, without those of no meaning.

    Articles and possessives at an apostrophe are left out, as in tokens: `l'été` is `été`.
    """
    words = dict.fromkeys(map(_own_word, whole_tokens(text).lower().split()))
    kept = list(words)
    if language in _LANGUAGES:
        kept = stop_word_filter(_LANGUAGES[language]).analyze(" ".join(kept))
    return {word if word.isascii() else folded(word): word for word in kept}


def _own_word(word: str) -> str:
    if "'" not in word:
        return word
    word = word.removesuffix("'s")
    article, _, rest = word.partition("'")
    return rest if rest and folded(article) in mappings.elided_articles() else word
