"""Rich Text Format (RTF 1.9.1): text, title, author and links."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from locale import windows_locale

from nwx.extract.office.text import OfficeText, Stop
from nwx.extract.page import ExtractPayload

_DEEPEST = 5_000
_CHECKED = 4_096  # tokens between two checks of the time
_LONGEST_FIELD = 10_000
_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?[0-9]{1,9})? ?|\\'([0-9A-Fa-f]{2})|\\(.)|([{}])|[\r\n\x00]+"
    rb"|([^\\{}\r\n\x00]{1,65536})|(\\)",
    re.S,
)
_ENDS_OF_BLOCKS = frozenset(("par", "sect", "page", "row", "nestrow"))
_CHARACTERS = {
    **{"tab": "\t", "cell": "\t", "nestcell": "\t", "line": "\n", "bullet": "•"},
    **{"emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "qmspace": " "},
    **{"lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”"},
}
_SYMBOLS = {b"~": "\xa0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}", b"\n": "\n", b"\r": "\n"}
_SKIPPED = frozenset(
    (
        *("fonttbl", "colortbl", "stylesheet", "pict", "object", "objdata", "themedata"),
        *("datastore", "listtable", "listoverridetable", "rsidtbl", "generator", "xmlnstbl"),
        *("filetbl", "revtbl", "nonshppict", "private", "info", "bkmkstart", "bkmkend", "fldinst"),
    )
)
_FIELDS = {"title": "title", "author": "author", "subject": "description"}
_CODECS = {
    **{0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5"},
    **{161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256"},
    **{186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp437"},
}
_CHARACTER_SETS = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
"""The default codec of a file by control word, unless `ansicpg` names a code page."""

_PAGES = {
    **{page: f"cp{page}" for page in (437, 850, 852, 866, 874, 932, 936, 949, 950)},
    **{page: f"cp{page}" for page in (720, 737, 775, 857, 858, 860, 862, 863, 864, 865)},
    **{page: f"cp{page}" for page in range(1250, 1259)},
    **{10000: "mac_roman", 10006: "mac_greek", 10007: "mac_cyrillic", 10029: "mac_latin2"},
    **{10079: "mac_iceland", 10081: "mac_turkish", 1361: "johab", 65001: "utf-8"},
}
_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"?([^"\s]{1,8000})')


def read_rtf(text: OfficeText, payload: ExtractPayload) -> None:
    """Add the content of an RTF file to a text."""
    _Reader(text, payload).read()


@dataclass(frozen=True, slots=True)
class _Group:
    """The state within a pair of braces."""

    target: str = ""  # destination: "" is the text, else a field, or a name that is skipped
    codec: str = ""
    fallback: int = 1  # characters after \u for older readers
    result_at: int = -1  # start of a link's text


class _Reader:
    def __init__(self, text: OfficeText, payload: ExtractPayload) -> None:
        self._text, self._payload = text, payload
        self._data = payload.data
        self._default = "cp1252"
        self._codecs: dict[int, str] = {}
        self._font = 0
        self._group = _Group()
        self._groups: list[_Group] = []
        self._too_deep = 0
        self._bytes = bytearray()  # not decoded yet, in the codec of the group
        self._to_skip = 0
        self._high = ""  # the first half of a surrogate pair
        self._is_optional = self._is_heading = False
        self._paragraph = text.mark
        self._kept: dict[str, str] = {}
        self._lengths = dict.fromkeys((*_FIELDS, "fldinst"), 0)

    def read(self) -> None:
        """Read to the end, or until a limit is reached."""
        position = tokens = 0
        latest = self._payload.deadline - self._payload.limits.seconds / 2
        try:
            while match := _TOKEN.match(self._data, position):
                position = match.end()
                tokens += 1
                if tokens % _CHECKED == 0 and self._payload.clock() > latest:
                    seconds = self._payload.limits.seconds / 2
                    raise Stop(f"time: more than {seconds:g} seconds, the rest was left out")
                position += self._take(match)
            self._flush()
        finally:
            metadata = self._text.metadata
            for name, field in _FIELDS.items():
                setattr(metadata, field, self._kept.get(name, ""))
        if self._groups or self._too_deep:
            self._text.problems.append("office: the RTF ends within a group, it is cut off")

    def _take(self, match: re.Match[bytes]) -> int:
        """Process a token; return the number of binary bytes that follow it."""
        word, number, code, symbol, brace, plain, _ = match.groups()
        if plain:
            self._take_bytes(plain)
        elif code:
            self._take_bytes(bytes((int(code, 16),)))
        elif word:
            self._flush()
            return self._control(word.decode("ascii"), int(number) if number else None)
        elif brace:
            self._flush()
            self._open() if brace == b"{" else self._close()
        elif symbol == b"*":
            self._is_optional = True
        elif symbol in _SYMBOLS:
            self._flush()
            self._put(_SYMBOLS[symbol])
        return 0

    def _take_bytes(self, data: bytes) -> None:
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        if not self._too_deep and (not self._group.target or self._group.target in self._lengths):
            self._bytes += data[skipped:]

    def _flush(self) -> None:
        if self._bytes:
            data, self._bytes = bytes(self._bytes), bytearray()
            self._put(data.decode(self._group.codec or self._default, "replace"))

    def _put(self, text: str) -> None:
        target = self._group.target
        if self._too_deep:
            return
        if not target:
            self._text.add(text)
        elif target in self._lengths and self._lengths[target] < _LONGEST_FIELD:
            self._lengths[target] += len(text)
            self._kept[target] = self._kept.get(target, "") + text[:_LONGEST_FIELD]

    def _open(self) -> None:
        self._to_skip = 0
        if len(self._groups) >= _DEEPEST:
            if not self._too_deep:
                self._text.problems.append(f"depth: groups lie deeper than {_DEEPEST}")
            self._too_deep += 1
            return
        self._groups.append(self._group)
        self._group = replace(self._group, result_at=-1)
        self._is_optional = False

    def _close(self) -> None:
        self._to_skip = 0
        if self._too_deep:
            self._too_deep -= 1
            return
        if self._group.result_at >= 0 and (
            match := _HYPERLINK.match(self._kept.pop("fldinst", ""))
        ):
            self._text.add_link(match[1], self._text.since(self._group.result_at))
        if self._groups:
            self._group = self._groups.pop()

    def _control(self, word: str, number: int | None) -> int:
        if word == "bin":
            return max(0, number or 0)
        if self._too_deep:
            return 0
        if word == "u":
            self._put_code(number or 0)
        elif word in _ENDS_OF_BLOCKS:
            self._end_paragraph()
        elif word in _CHARACTERS:
            self._put(_CHARACTERS[word])
        elif word in _CHARACTER_SETS:
            self._default = _CHARACTER_SETS[word]
        elif number is not None:
            self._set(word, number)
        elif not self._begin_destination(word) and word == "pard":
            self._is_heading = False
        self._is_optional = False
        return 0

    def _begin_destination(self, word: str) -> bool:
        """Begin a destination outside the text; return whether the word names one."""
        inside = self._group.target
        if word == "fldrslt" and not inside:
            self._group = replace(self._group, result_at=self._text.mark)
        elif word == "fldinst" and not inside:
            self._lengths[word], self._kept[word] = 0, ""
            self._group = replace(self._group, target=word)
        elif word in _FIELDS and inside == "info":
            self._group = replace(self._group, target=word)
        elif not inside and (word in _SKIPPED or (self._is_optional and word != "shppict")):
            self._group = replace(self._group, target=word if word in _SKIPPED else "*")
        else:
            return False
        return True

    def _put_code(self, number: int) -> None:
        code = chr(number & 0xFFFF)
        self._to_skip = self._group.fallback
        if "\ud800" <= code < "\udc00":
            self._high = code
        elif "\udc00" <= code < "\ue000":
            pair, self._high = self._high + code, ""
            self._put(pair.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
        else:
            self._put(code)

    def _end_paragraph(self) -> None:
        if self._group.target:
            return
        if self._is_heading:
            self._text.add_heading(self._text.since(self._paragraph))
        self._text.end_block()
        self._paragraph = self._text.mark

    def _set(self, word: str, number: int) -> None:
        actions: dict[str, Callable[[int], None]] = {
            "uc": self._set_fallback,
            "f": self._set_font,
            "fcharset": self._set_charset,
            "ansicpg": self._set_page,
            "deflang": self._set_language,
            "outlinelevel": self._set_heading,
        }
        if action := actions.get(word):
            action(number)
        elif self._is_optional and not self._group.target:
            self._group = replace(self._group, target="*")

    def _set_fallback(self, number: int) -> None:
        self._group = replace(self._group, fallback=max(0, min(number, 8)))

    def _set_font(self, number: int) -> None:
        self._font = number
        self._group = replace(self._group, codec=self._codecs.get(number, ""))

    def _set_charset(self, number: int) -> None:
        if self._group.target == "fonttbl" and len(self._codecs) < _LONGEST_FIELD:
            self._codecs[self._font] = _CODECS.get(number, "") if number else ""

    def _set_page(self, number: int) -> None:
        self._default = _PAGES.get(number, self._default)

    def _set_language(self, number: int) -> None:
        self._text.metadata.language = windows_locale.get(number, "")[:2]

    def _set_heading(self, number: int) -> None:
        self._is_heading = number < 9 and not self._group.target
