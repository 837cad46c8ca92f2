"""The language of a text, as an ISO 639-1 code, or "" where it cannot be told."""

import re

from resiliparse.parse.lang import detect_fast

_SAMPLE = 4_000  # characters whose n-grams are compared; twice as many tell as much
_SCRIPT_SAMPLE = 1_500  # characters whose scripts are counted
_SHORTEST = 40  # letters, below which n-grams say nothing
_SURE = 1_000  # the rank beyond which the nearest profile is no longer near
_MARGIN = 1.04  # how much further away the second nearest must be
_TIE = 1.1  # how much further away the declared language may be
_RARE = frozenset({"la", "io", "vo"})  # lists of names look like these; believed where declared
_LETTERS = re.compile(r"[^\W\d_]+")
_NO_LETTERS = bytes(code for code in range(0x80) if not chr(code).isalpha())

_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff]")
_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")

_DEVANAGARI = re.compile("[\u0900-\u097f]")
# Small words that the n-grams of these languages do not tell apart.
_DEVANAGARI_WORDS = (
    ("hi", re.compile(r"(?:^|\s)(?:है|हैं|में|और|का|के|की)(?=\s|।)")),
    ("mr", re.compile(r"(?:^|\s)(?:आहे|आहेत|आणि|चा|ची|चे|मध्ये)(?=\s|।|\.)")),
    ("ne", re.compile(r"(?:^|\s)(?:छ|छन्|हो|र|मा|गर्न|पनि)(?=\s|।)")),
)

# Scripts that one language of the web writes in.
_SCRIPTS = (
    ("th", re.compile("[\u0e01-\u0e5b]")),
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0531-\u058f]")),
)


def language_of(content: str, declared: str = "") -> str:
    """Return the language of a text; `declared` is what it says itself, and breaks ties."""
    sample = content[:_SCRIPT_SAMPLE]
    letters = _letters(sample)
    if letters < _SHORTEST // 4:
        return ""
    if language := _by_script(sample, letters):
        return language
    if letters < _SHORTEST:
        return ""
    return _by_profile(
        content[:_SAMPLE], declared.strip().lower().replace("_", "-").partition("-")[0]
    )


def _letters(sample: str) -> int:
    """Return how many letters a text has."""
    if sample.isascii():
        return len(sample.encode().translate(None, _NO_LETTERS))
    return sum(map(len, _LETTERS.findall(sample)))


def _by_script(sample: str, letters: int) -> str:
    """Return the language of the script that most letters are in, if that tells it."""
    if sample.isascii():
        return ""
    hangul, kana, han = (len(x.findall(sample)) for x in (_HANGUL, _KANA, _HAN))
    if 2 * (hangul + kana + han) > letters:
        if hangul > kana + han / 4:
            return "ko"
        return "ja" if kana * 20 > han else "zh"
    if 2 * len(_DEVANAGARI.findall(sample)) > letters:
        counts = {name: len(words.findall(sample)) for name, words in _DEVANAGARI_WORDS}
        return max(counts, key=counts.__getitem__) if any(counts.values()) else ""
    for language, script in _SCRIPTS:
        if 2 * len(script.findall(sample)) > letters:
            return language
    return ""


def _by_profile(sample: str, declared: str) -> str:
    """Return the language whose n-grams are nearest; none where two are about as near."""
    ranked = [pair for pair in _nearest(sample) if pair[0] == declared or pair[0] not in _RARE]
    if not ranked:
        return ""
    best, rank = ranked[0]
    near = [language for language, distance in ranked if distance <= rank * _TIE]
    if declared in near:
        return declared
    unsure = len(ranked) > 1 and ranked[1][1] < rank * _MARGIN
    return "" if unsure else best


def _nearest(sample: str) -> list[tuple[str, int]]:
    """Return the nearest languages and how far they are."""
    found = detect_fast(sample, cutoff=_SURE, n_results=4)
    return [pair for pair in found if isinstance(pair, tuple)]
