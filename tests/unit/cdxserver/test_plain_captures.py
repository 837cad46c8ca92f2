"""The short cut for plain lines gives the captures of the usual way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.capture_values import capture_of_values
from nwx.captures import names_capture
from nwx.cdx.files import CdxParser
from nwx.cdxserver.loaded_lines import capture_of
from nwx.cdxserver.plain_captures import plain_capture, plain_values
from nwx.errors import CdxError
from nwx.model import Capture

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
    """Return the capture of a line, None where it is bad or stands for none."""
    parser = CdxParser("file")
    try:
        found = parser.parse(line, 1)
        if found is None or not names_capture(found.content_type, found.status_code, found.url):
            return None
        return capture_of(found, parser.layout, "web")
    except CdxError:
        return None


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


@given(st.integers(0, len(USUAL)), st.text(max_size=3))
def test_lines_with_anything_in_them(place: int, put: str) -> None:
    _check(USUAL[:place] + put + USUAL[place + len(put) :])


def test_usual_lines_take_the_short_cut() -> None:
    for line in (USUAL, f"{USUAL}\n", f"{USUAL}\r\n"):
        assert plain_capture(line.encode(), "web") == _usual_way(line.encode()) is not None


def test_many_plain_lines_are_read_together() -> None:
    lines = [f"{USUAL} {end}".replace(" a.warc.gz ", " ").encode() for end in ("a\r\n", "b\n", "c")]
    rows = plain_values(lines, "web")
    assert rows is not None
    assert list(map(capture_of_values, rows)) == [_usual_way(line) for line in lines]


@pytest.mark.parametrize("odd", ["\n", "é\n", f"{USUAL}\n{USUAL}\n", "a" * 9_000 + "\n"])
def test_lines_are_not_read_together_where_one_is_not_plain(odd: str) -> None:
    assert plain_values([f"{USUAL}\n".encode(), odd.encode()], "web") is None
    assert plain_values([USUAL.encode(), f"{USUAL}\n".encode()], "web") is None
