"""Timestamps, digests and urlkeys of any input, compared with definitions and the surt package."""

import base64
import hashlib
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from surt import surt

from nwx.errors import FormatError, UrlError
from nwx.values.digests import DigestForm, digest_of, normal_digest, spell
from nwx.values.timestamps import normal_timestamp, parse_timestamp, to_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url, url_parts

INSTANTS = st.datetimes(min_value=datetime(1, 1, 1), timezones=st.just(UTC)).map(
    lambda instant: instant.replace(microsecond=0)
)
ALGORITHMS = st.sampled_from(["md5", "sha1", "sha256", "sha512"])
# pieces with a meaning to the package, and arbitrary characters
PIECES = st.one_of(
    st.sampled_from(
        ["%20", "%2F", "%41", "%25", "%3f", "%23", "%E4", "%7e", "//", "/./", "/../", "www.", "&&",
         "&", "=", "?", ";", "..", "sid=" + "a" * 32, "PHPSESSID=" + "0" * 32, "(a(x))/x.aspx",
         ";jsessionid=" + "A" * 32, "cfid=1&cftoken=2", "abc", "B", "z=1", "\\"]
    ),
    st.characters(codec="utf-8"),
)  # fmt: skip
HOSTS = st.sampled_from(
    ["example.org", "www.Example.co.uk", "WWW2.a_b.example", "localhost", "www", "x.1a", "1.2.3.4",
     "0x7f.1", "bücher.de", "a..b.org", "foo.", "[::1]", ""]
)  # fmt: skip
URLS = st.builds(
    lambda scheme, host, port, slash, rest: f"{scheme}{host}{port}{slash}{''.join(rest)}",
    st.sampled_from(["http://", "https://", "HTTP://", "ftp://", "dns:", "", "http://http://"]),
    HOSTS,
    st.sampled_from(["", ":80", ":443", ":8080", ":0", ":"]),
    st.sampled_from(["/", "", "?"]),
    st.lists(PIECES, max_size=8),
)


@given(INSTANTS)
def test_timestamps_go_round(instant: datetime) -> None:
    text = to_timestamp(instant)
    assert parse_timestamp(text) == instant
    assert normal_timestamp(text) == text
    assert normal_timestamp(instant.isoformat()) == text
    assert normal_timestamp(instant.strftime(f"{instant.year:04}-%m-%dT%H:%M:%S.123Z")) == text


@given(st.text(max_size=30))
def test_any_text_is_a_date_or_an_error(text: str) -> None:
    try:
        digits = normal_timestamp(text)
    except FormatError:
        return
    assert to_timestamp(parse_timestamp(digits)) == digits


@given(ALGORITHMS, st.binary(max_size=20), st.sampled_from(list(DigestForm)))
def test_digests_go_round_in_every_spelling_that_names_the_algorithm(
    algorithm: str, data: bytes, form: DigestForm
) -> None:
    raw = hashlib.new(algorithm, data, usedforsecurity=False).digest()
    normal = digest_of(algorithm, raw)
    spelled = spell(normal, form)
    if form not in (DigestForm.BARE, DigestForm.BARE_HEX, DigestForm.BARE_BASE32):
        assert normal_digest(spelled) == normal
    for text in (base64.b64encode(raw), base64.b32encode(raw), raw.hex().encode()):
        assert normal_digest(f"{algorithm}:{text.decode()}") == normal


@given(st.text(max_size=80))
def test_any_text_is_a_digest_of_normal_form_or_an_error(text: str) -> None:
    try:
        digest = normal_digest(text)
    except FormatError:
        return
    assert normal_digest(digest) == digest


@given(URLS)
def test_urlkeys_are_those_of_the_package(url: str) -> None:
    try:
        expected = surt(url)
    except (ValueError, TypeError, AttributeError, AssertionError, IndexError):
        expected = None
    try:
        key = urlkey(url)
    except UrlError:
        key = None
    # `host:B`, as in archives: the package rejects the port, so the key is the URL
    assert key == expected or (expected is None and key == url)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_url_fit_for_a_field_or_an_error(raw: bytes) -> None:
    try:
        url = clean_url(raw)
    except UrlError:
        return
    assert url
    assert not any(character.isspace() and character.isascii() for character in url)
    assert clean_url(url) == url or url.startswith("<")
    place = url_parts(url)
    assert place.host.endswith(place.domain)
    assert place.domain.endswith(place.public_suffix)
