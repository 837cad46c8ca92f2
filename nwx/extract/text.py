"""Cleaning, language detection and signature of every document's text."""

import hashlib
import re
import unicodedata
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from resiliparse.parse.lang import detect_fast

BLOCK = "\x00"
"""The separator of two blocks in a text that has not been cleaned yet."""

_LONG_LINE = 40  # characters
_LITTLE = 150

# Control characters except white space; soft hyphen, zero-width space and byte order mark,
# which hide a word from search; surrogates; noncharacters.
_CODES = (
    "\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\ufeff\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
)
_UNWANTED = re.compile(f"[{BLOCK}{_CODES}]")
_UNWANTED_IN_BLOCKS = re.compile(f"[{_CODES}]")
_RARE = re.compile(f"[{_CODES}\x85\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_NO_BREAK_SPACE = "\xa0".encode()
_BLOCK, _SPACE, _LINE_BREAK = f"{BLOCK} \n".encode()
_ASCII = bytes(range(0x80))
_CONTROLS = bytes(code for code in _ASCII if _UNWANTED_IN_BLOCKS.match(chr(code)))


def clean_line(text: str) -> str:
    """Return `text` as one line, with runs of white space as one space and none at the ends."""
    line = " ".join(text.split())
    if line.isascii() and line.isprintable():
        return line
    if _UNWANTED.search(line):
        line = " ".join(_UNWANTED.sub("", line).split())
    return unicodedata.normalize("NFC", line)


def clean_blocks(text: str, limit: int) -> tuple[str, bool]:
    """Return the blocks of a text, separated by `BLOCK`, as lines, and whether it was cut.

    Empty blocks are removed. The result has at most `limit` characters.
    """
    joined = unicodedata.normalize("NFC", _joined_lines(text))
    if len(joined) <= limit:
        return joined, False
    return unicodedata.normalize("NFC", joined[:limit]).strip(), True


def _joined_lines(text: str) -> str:
    """Return the blocks of a text as lines.

    Scanning bytes is five times as fast as scanning characters, and possible if all white space is
    ASCII, except for no-break spaces.
    """
    data = text.encode("utf-8", "surrogatepass")
    rare = len(data.translate(None, _CONTROLS)) < len(data)
    if not rare and (beyond_ascii := data.translate(None, _ASCII)):
        data = data.replace(_NO_BREAK_SPACE, b" ")
        beyond = beyond_ascii.replace(_NO_BREAK_SPACE, b"").decode("utf-8", "surrogatepass")
        rare = _RARE.search(beyond) is not None
    if not rare:
        return _joined_words(data)
    text = _UNWANTED_IN_BLOCKS.sub("", text)
    lines = [" ".join(block.split()) for block in text.split(BLOCK)]
    return "\n".join(filter(None, lines))


def _joined_words(data: bytes) -> str:
    """Return words joined by one line break if `BLOCK` was between them, otherwise by one space."""
    codes = np.frombuffer(b" %b " % data, np.uint8)
    is_said = codes > _SPACE
    edges = np.flatnonzero(is_said[1:] != is_said[:-1]) + 1  # the words' starts and ends
    ends = edges[1::2]
    joined = codes.copy()
    joined[ends] = _SPACE
    borders = np.searchsorted(ends, np.flatnonzero(codes == _BLOCK), "right")
    joined[ends[borders[borders > 0] - 1]] = _LINE_BREAK
    is_said[ends] = True
    return joined[is_said][:-1].tobytes().decode()


def prose(content: str) -> str:
    """Return the long lines of a text, without menus; the whole text if they are few."""
    lines = [line for line in content.split("\n") if len(line) >= _LONG_LINE]
    text = "\n".join(lines)
    return text if len(text) >= _LITTLE else content


_SAMPLE = 4_000  # characters whose n-grams are compared; twice as many are no better
_SCRIPT_SAMPLE = 1_500  # characters whose scripts are counted
_SHORTEST = 40  # letters, below which n-grams are not meaningful
_SURE = 1_000  # the distance beyond which even the nearest profile is not near
_MARGIN = 1.04  # minimum distance of the second nearest profile, relative to the nearest
_TIE = 1.1  # maximum distance of the declared language, relative to the nearest
_RARE_LANGUAGES = frozenset(
    {"la", "io", "vo"}
)  # lists of names look like these; accepted only if declared
_LETTERS = re.compile(r"[^\W\d_]+")
_NO_LETTERS = bytes(code for code in range(0x80) if not chr(code).isalpha())

_HANGUL = re.compile("[\uac00-\ud7a3\u1100-\u11ff]")
_KANA = re.compile("[\u3041-\u30ff]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")

_DEVANAGARI = re.compile("[\u0900-\u097f]")
# Common words, as n-grams do not distinguish these languages.
_DEVANAGARI_WORDS = (
    ("hi", re.compile(r"(?:^|\s)(?:है|हैं|में|और|का|के|की)(?=\s|।)")),
    ("mr", re.compile(r"(?:^|\s)(?:आहे|आहेत|आणि|चा|ची|चे|मध्ये)(?=\s|।|\.)")),
    ("ne", re.compile(r"(?:^|\s)(?:छ|छन्|हो|र|मा|गर्न|पनि)(?=\s|।)")),
)

# Scripts used by one language of the web.
_SCRIPTS = (
    ("th", re.compile("[\u0e01-\u0e5b]")),
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0531-\u058f]")),
)


def language_of(content: str, declared: str = "") -> str:
    """Return the language of a text, "" if unsure; `declared`, the document's own, breaks ties."""
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
    """Return the number of letters in a text."""
    if sample.isascii():
        return len(sample.encode().translate(None, _NO_LETTERS))
    return sum(map(len, _LETTERS.findall(sample)))


def _by_script(sample: str, letters: int) -> str:
    """Return the language of most letters' script, "" if the script does not determine it."""
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
    """Return the language whose n-grams are nearest, "" if two are about equally near."""
    ranked = [
        pair for pair in _nearest(sample) if pair[0] == declared or pair[0] not in _RARE_LANGUAGES
    ]
    if not ranked:
        return ""
    best, rank = ranked[0]
    near = [language for language, distance in ranked if distance <= rank * _TIE]
    if declared in near:
        return declared
    unsure = len(ranked) > 1 and ranked[1][1] < rank * _MARGIN
    return "" if unsure else best


def _nearest(sample: str) -> list[tuple[str, int]]:
    """Return the nearest languages and their distances, nearest first."""
    found = detect_fast(sample, cutoff=_SURE, n_results=4)
    return [pair for pair in found if isinstance(pair, tuple)]


_CHARACTERS = 100_000  # read for a signature
_FEWEST_WORDS = 50  # words
_SHORTEST_WORD = 4  # bytes that count: shorter ones are in all texts, and change with each edit
_FEWEST = 10  # entries of a profile
_COARSE = 0.01  # a step, as a share of the highest count
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
# On UTF-8 bytes; digits separate words as punctuation does.
_APART = b"\t\n\x0b\x0c\r!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~0123456789"
_COARSER = bytes.maketrans(_APART, b" " * len(_APART))
_BLANK = ord(" ")
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - 14)  # 14 bits a hash; more take longer to count, and gain little
# Masks that keep the first n of eight bytes.
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)


def signature_of(content: str) -> str:
    """Return 16 hex digits that are equal for near-identical texts, "" for short ones."""
    text = content[:_CHARACTERS].lower()
    if not text.isascii():
        text = _UNSPACED.sub(_in_pairs, text)
    words, sizes = _words(text.encode().translate(_COARSER))
    if len(words) < _FEWEST_WORDS:
        return ""
    counts = np.bincount(
        (words[sizes >= _SHORTEST_WORD] * _FACTOR >> _SHIFT).astype(np.int64), minlength=1
    )
    step = max(round(int(counts.max()) * _COARSE), 2)
    hashes = np.flatnonzero(counts >= step)
    if len(hashes) < _FEWEST:
        return ""
    profile = hashes.astype("<u4").tobytes() + (counts[hashes] // step).astype("<u4").tobytes()
    return hashlib.blake2b(profile, digest_size=8).hexdigest()


def _in_pairs(run: re.Match[str]) -> str:
    """Return a run of an unspaced script as its overlapping pairs of characters."""
    return f" {' '.join(map(''.join, pairwise(run[0])))} "


def _words(text: bytes) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the first eight bytes of each word, and its length in bytes."""
    padded = b" %b        " % text
    is_space = np.frombuffer(padded, np.uint8) == _BLANK
    edges = np.flatnonzero(is_space[1:] != is_space[:-1])  # before each word, and at its last byte
    starts = edges[::2]
    sizes = edges[1::2] - starts
    eights = np.ndarray(len(text), "<u8", padded, 1, strides=(1,))[starts]
    return eights & _MASKS[np.minimum(sizes, 8)], sizes
