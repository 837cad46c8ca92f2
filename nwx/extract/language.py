"""The language of a text, as an ISO 639-1 code, or "" where it cannot be told."""

import re

from resiliparse.parse.lang import detect_fast

_SAMPLE = 10_000  # characters looked at
_SHORTEST = 40  # letters, below which n-grams say nothing
_SURE = 1_000  # the rank beyond which the nearest profile is no longer near
_TIE = 1.1  # how much further away the declared language may be
_LETTERS = re.compile(r"[^\W\d_]+")

_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff]")
_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")

# Scripts that one language of the web writes in.
_SCRIPTS = (
    ("th", re.compile("[\u0e01-\u0e5b]")),
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0531-\u058f]")),
)


def language_of(content: str, declared: str = "") -> str:
    """Return the language of a text; `declared` is what it says itself, and breaks ties."""
    sample = content[:_SAMPLE]
    letters = sum(map(len, _LETTERS.findall(sample)))
    if letters < _SHORTEST // 4:
        return ""
    if language := _by_script(sample, letters):
        return language
    if letters < _SHORTEST:
        return ""
    return _by_profile(sample, declared.strip().lower().replace("_", "-").partition("-")[0])


def _by_script(sample: str, letters: int) -> str:
    """Return the language of the script that most letters are in, if that tells it."""
    if sample.isascii():
        return ""
    hangul, kana, han = (len(x.findall(sample)) for x in (_HANGUL, _KANA, _HAN))
    if 2 * (hangul + kana + han) > letters:
        if hangul > kana + han / 4:
            return "ko"
        return "ja" if kana * 20 > han else "zh"
    for language, script in _SCRIPTS:
        if 2 * len(script.findall(sample)) > letters:
            return language
    return ""


def _by_profile(sample: str, declared: str) -> str:
    ranked: list[tuple[str, int]] = detect_fast(sample, cutoff=_SURE, n_results=3)  # type: ignore[assignment]
    if not ranked:
        return ""
    best, rank = ranked[0]
    for language, distance in ranked[1:]:
        if language == declared and distance <= rank * _TIE:
            return declared
    return best
