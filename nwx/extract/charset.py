"""Detection of a payload's character encoding, and decoding.

The order is: byte order mark (as in the WHATWG encoding standard), HTTP header, the document's own
declaration, strict UTF-8, and last a guess from the bytes. A label that does not fit the bytes is
skipped.
"""

import codecs
import re
from collections.abc import Iterator

import cchardet

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_HEAD = 4096  # bytes in which a document may name its encoding; browsers look at 1024
_GUESS = 65_536  # bytes given to the detector
_META = re.compile(rb"<meta[^>]{0,512}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
_XML = re.compile(rb"<\?xml[^>]{0,256}?encoding\s*=\s*[\"']([\w.:-]{2,40})", re.I)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)

# Labels that browsers read as a wider encoding than their name, see
# https://encoding.spec.whatwg.org/#names-and-labels
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "hz": "hz",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}
_NAMES = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "x-euc-kr": "cp949",
    "x-big5": "big5hkscs",
    "ks_c_5601-1987": "cp949",
    "windows-949": "cp949",
    "windows-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "x-mac-roman": "mac_roman",
    "macintosh": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "utf8": "utf-8",
    "unicode": "utf-16-le",
}
_WIDE = re.compile("[^\x00-\x7f]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_LITTLE_KOREAN = 8  # characters
_BAD_SHARE = 0.1  # of the non-ASCII characters: with more invalid ones, a label is wrong


def codec_name(label: str) -> str:
    """Return Python's name of the encoding browsers use for a label, "" if unknown."""
    label = label.strip().strip("\"'").lower()
    try:
        info = codecs.lookup(_NAMES.get(label, label))
    except (LookupError, ValueError):
        return ""
    # codecs.lookup also finds transformations such as "rot13" and "idna".
    if not info._is_text_encoding or info.name in {"idna", "punycode", "utf-7", "unicode_escape"}:
        return ""
    return _WIDER.get(info.name, info.name)


def decode(data: bytes, content_type: str = "", charset: str = "") -> str:
    """Return the text of `data`; bytes invalid in its encoding become U+FFFD.

    `charset` is the HTTP header's, taken from `content_type` if empty.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if data.isascii() and b"\x1b" not in data and b"\x00" not in data and not _may_be_hz(data):
        return data.decode("ascii")
    for name in _labels(data, content_type, charset):
        text = _fitting(data, name)
        if text is not None:
            return text
    return _guess(data)


def _may_be_hz(data: bytes) -> bool:
    """Return whether ASCII data may be in the Chinese encoding HZ."""
    return b"~" in data and b"~{" in data


def _labels(data: bytes, content_type: str, charset: str) -> Iterator[str]:
    """Yield the encodings that header and document declare, most trusted first."""
    if not charset and (found := _HEADER.search(content_type)):
        charset = found[1]
    if name := codec_name(charset):
        yield name
    head = data[:_HEAD]
    for pattern in (_META, _XML):
        if (match := pattern.search(head)) and (
            name := codec_name(match[1].decode("ascii", "replace"))
        ):
            # A readable <meta> or XML declaration cannot be in UTF-16 or UTF-32.
            yield "utf-8" if name.startswith(("utf-16", "utf-32")) else name


def _fitting(data: bytes, name: str) -> str | None:
    """Return the text of `data` in encoding `name`, None if that is plainly wrong."""
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        text = data.decode(name, "replace")
        beyond_ascii = len(text) - len(data) + _high(data) if name == "utf-8" else _high(data)
        return text if text.count("\ufffd") <= _BAD_SHARE * max(beyond_ascii, 1) else None
    if name != "utf-8" and not data.isascii():
        # Text of a single-byte encoding is hardly ever valid UTF-8 by chance.
        return _strict_utf8(data) or text
    return text


def _high(data: bytes) -> int:
    """Return the number of non-ASCII bytes."""
    return len(data) - len(data.translate(None, _HIGH_BYTES))


_HIGH_BYTES = bytes(range(0x80, 0x100))


def _strict_utf8(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _guess(data: bytes) -> str:
    """Return the text of bytes without a usable declaration."""
    text = _strict_utf8(data)
    if text is not None and "\x00" not in text:
        return text
    for name in _utf16_without_mark(data):
        return data.decode(name, "replace")
    if _looks_korean(data[:_GUESS]):
        return data.decode("cp949", "replace")
    found = cchardet.detect(data[:_GUESS])["encoding"]
    return data.decode(codec_name(found or "") or "cp1252", "replace")


def _looks_korean(head: bytes) -> bool:
    """Return whether bytes decoded as EUC-KR are nearly all Hangul.

    The detector reports Big5 for many such texts. Chinese decoded as EUC-KR is half Hanja.
    """
    text = head.decode("cp949", "replace")
    wide = len(_WIDE.findall(text))
    return wide >= _LITTLE_KOREAN and len(_HANGUL.findall(text)) > 0.85 * wide


def _utf16_without_mark(data: bytes) -> Iterator[str]:
    """Yield the UTF-16 byte order that fits: mostly Latin text has a zero in every other byte."""
    head = data[:_HEAD]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) * 4 > len(head) and min(even, odd) * 8 < len(head):
        yield "utf-16-le" if odd > even else "utf-16-be"
