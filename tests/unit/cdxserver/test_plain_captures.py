"""The fast path for plain lines gives the same captures as the usual one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.cdx.files import CdxParser
from nwx.cdx.rows import row_is_capture
from nwx.cdxserver.loaded_lines import capture_of
from nwx.cdxserver.plain_captures import plain_capture, plain_values
from nwx.errors import CdxError, UrlError
from nwx.model import Capture
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts

FIELDS = {
    "key": ["-", "example,a)/", "a?__wb_method=POST&b=1", "é"],
    "time": ["20200229235959", "20210229000000", "2020", "20201301000000", "20200101240000"],
    "url": [
        "http://www.Example.org:80/A/?b=2&a=1",
        "https://a.example/%7e;sid=1",
        "http://[::1",
        "http://" + "a" * 5_000,
        "http://a.example/é",
        "dns:a.example",
        "<http://a.example/>",
        "http:///",
    ],
    "mime": [
        *("text/html", "Text/HTML", "text/html;charset=x", "unk", "-", "warc/revisit"),
        *("warc/request", "application/warc-fields", "arc/filedesc", "image/svg+xml", "html"),
    ],
    "status": ["200", "-", "0", "099", "99999", "OK"],
    "digest": ["M5ORM4XQ5QCEZEDRNZRGSWXPCOGUVASI", "-", "sha1:" + "A" * 32, "a" * 32, "short"],
    "redirect": ["-", "http://a.example/b", "é"],
    "flags": ["-", "A"],
    "length": ["9", "-", "-1", "9" * 15, "9" * 18, "x"],
    "offset": ["0", "00012", "-", "9" * 15, "9" * 18],
    "file": ["a.warc.gz", "a b", "-", "é.warc"],
}
USUAL = " ".join(values[0] for values in FIELDS.values())
ONE_ODD = [
    " ".join(value if name == odd else values[0] for name, values in FIELDS.items())
    for odd, given_values in FIELDS.items()
    for value in given_values
]


def _usual_way(line: bytes) -> Capture | None:
    """Return the capture of a line, None if it is invalid or not a capture."""
    parser = CdxParser("file")
    try:
        found = parser.parse(line, 1)
        if found is None or not row_is_capture(found):
            return None
        return capture_of(found, "web")
    except CdxError:
        return None


def _captures(block: bytes) -> list[Capture | None]:
    """Return the captures of a block's lines, None for lines that are not plain."""
    values, is_plain = plain_values(block, "web")
    following = iter(values)
    return [next(following) if one else None for one in is_plain]


def _check(line: str) -> None:
    raw = line.encode()
    quick = plain_capture(raw, "web")
    assert quick is None or quick == _usual_way(raw)


@pytest.mark.parametrize("line", ONE_ODD)
def test_odd_values_are_read_the_usual_way_or_alike(line: str) -> None:
    _check(line)
    _check(f"{line}\r\n")


@given(st.tuples(*(st.sampled_from(values) for values in FIELDS.values())))
def test_any_values_together(values: tuple[str, ...]) -> None:
    _check(" ".join(values))


@given(
    st.integers(0, len(USUAL)),
    st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=3),
)
def test_lines_with_anything_in_them(place: int, put: str) -> None:
    _check(USUAL[:place] + put + USUAL[place + len(put) :])


def test_usual_lines_take_the_short_cut() -> None:
    revisit = USUAL.replace(" text/html 200 ", " warc/revisit - ")
    for line in (USUAL, f"{USUAL}\n", f"{USUAL}\r\n", revisit):
        assert plain_capture(line.encode(), "web") == _usual_way(line.encode()) is not None


def test_lines_are_read_together_beside_others() -> None:
    plain = [f"{USUAL}{end}".encode() for end in ("1\r\n", "2\n", "3\r\r\n", "4")]
    odd = [b"\n", b"\r\n", "é\n".encode(), b"a" * 100 + b"\n"]
    lines = [line for pair in zip(odd, plain, strict=True) for line in pair]
    found = _captures(b"".join(lines))
    assert found[::2] == [None] * 4
    assert found[1::2] == list(map(_usual_way, plain))


@given(st.lists(st.sampled_from(ONE_ODD), min_size=1, max_size=6))
def test_a_block_gives_what_its_lines_give(lines: list[str]) -> None:
    block = "".join(f"{line}\n" for line in lines).encode()
    assert _captures(block) == [plain_capture(line.encode(), "web") for line in lines]


@pytest.mark.parametrize("odd", [b"a" * 9_000 + b"\n", b"\n", b"a\n"])
def test_lines_that_are_too_long_or_empty_disturb_no_others(odd: bytes) -> None:
    plain = f"{USUAL}\n".encode()
    wanted = [_usual_way(plain), _usual_way(odd), _usual_way(plain)]
    assert _captures(plain + odd + plain) == wanted


ODD = [
    *("http://a.example", "https://www.A.example/", "http://www2.a.example//b", "http://www.com/A"),
    *("http://a.example:8080/b/", "http://1.2.3.4/a", "http://a.example/%7eb?c=1&a=2", "http:///"),
    *("http://[::1", "http://a_b.example/.a/", "http://a.example/x/../y", "http://u@a.example/@"),
    *("http://www.a/b;c", "http://a.example/?sid=1", "http://a.example/b/?", "http://a.b./c"),
]
"""URLs of printable ASCII, as in lines."""


def _check_urls(urls: list[str]) -> None:
    before, after = USUAL.split(FIELDS["url"][0])
    found = _captures("".join(f"{before}{url}{after}\n" for url in urls).encode())
    parts = [one and (one.urlkey, one.host, one.domain, one.public_suffix) for one in found]
    assert parts == [(key, *url_parts(url)) if (key := _key(url)) else None for url in urls]


def _key(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


@pytest.mark.parametrize("url", ODD)
def test_odd_urls(url: str) -> None:
    _check_urls([url])


@settings(deadline=None)
@given(st.lists(st.sampled_from(ODD), min_size=1))
def test_urls_together(urls: list[str]) -> None:
    _check_urls(urls)


@settings(deadline=None)
@given(
    st.tuples(
        st.sampled_from(["http", "https"]),
        st.from_regex(r"(?:www[0-9]?\.)?[a-zA-Z0-9_.:@-]{1,12}", fullmatch=True),
        st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12),
    )
)
def test_any_url(parts: tuple[str, str, str]) -> None:
    scheme, host, path = parts
    _check_urls([f"{scheme}://{host}/{path}", f"{scheme}://{host}{path}"])
