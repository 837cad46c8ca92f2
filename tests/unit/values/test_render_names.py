"""URIs of renders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.errors import UrlError
from nwx.values.render_names import (
    RENDER_KEY_STARTS,
    FaultKind,
    RenderKind,
    RenderName,
    render_keys,
    render_name,
    target_uri,
)
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url

URL = "https://www.example.org/a/b?z=1&a=%20x"


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        (f"urn:view:{URL}", RenderKind.VIEW),
        (f"urn:thumbnail:{URL}", RenderKind.THUMBNAIL),
        (f"urn:fullPage:{URL}", RenderKind.FULL_PAGE),
        (f"urn:fullpage:{URL}", RenderKind.FULL_PAGE),
        (f"urn:text:{URL}", RenderKind.TEXT),
        (f"urn:textFinal:{URL}", RenderKind.TEXT_FINAL),
        (f"urn:pageinfo:{URL}", RenderKind.PAGEINFO),
        (f"screenshot:{URL}", RenderKind.VIEW),
        (f"thumbnail:{URL}", RenderKind.THUMBNAIL),
        (f"onreadydom:{URL}", RenderKind.DOM),
        (f"har:{URL}", RenderKind.HAR),
        (f"imagemap:{URL}", RenderKind.IMAGE_MAP),
    ],
)
def test_conventions(uri: str, kind: RenderKind) -> None:
    assert render_name(uri) == RenderName(kind, URL)


def test_snapshots_of_wpull() -> None:
    uri = "urn:X-wpull:snapshot?url=https://www.example.org/a/b?z=1%26a=%2520x"
    assert render_name(uri) == RenderName(RenderKind.SNAPSHOT, URL)
    assert target_uri(RenderKind.SNAPSHOT, URL) == uri


@pytest.mark.parametrize(
    "uri",
    [
        "",
        URL,
        "urn:view:",
        "urn:view:about:blank",
        "urn:viewer:https://a.example/",
        "urn:uuid:1b6d",
        "screenshot",
        "screenshot:a.png",
        "http://screenshot:80/",
        "har:ftp://a.example/",
        "urn:X-wpull:log",
        "urn:X-wpull:snapshot?url=",
    ],
)
def test_other_uris(uri: str) -> None:
    assert render_name(uri) is None


@pytest.mark.parametrize("kind", RenderKind)
def test_what_is_written_is_read(kind: RenderKind) -> None:
    assert render_name(target_uri(kind, URL)) == RenderName(kind, URL)


@pytest.mark.parametrize("kind", RenderKind)
@pytest.mark.parametrize(
    "other",
    [
        URL,
        "http://www.example.org/a/b?z=1&a=%20x",
        "https://example.org/a/b?z=1&a=%20x",
        "http://example.org/a/b/?a=%20x&z=1",
    ],
)
def test_renders_have_the_keys_of_their_page(kind: RenderKind, other: str) -> None:
    keys = render_keys(URL)
    found = urlkey(target_uri(kind, other))
    if kind is not RenderKind.SNAPSHOT or other == URL:
        assert found in keys
    assert found.startswith(RENDER_KEY_STARTS)


def test_keys_of_what_no_browser_shows() -> None:
    assert render_keys("urn:view:http://example.org/") == ()
    assert render_keys("dns:example.org") == ()
    assert len(render_keys(URL, [RenderKind.DOM])) == 4


@given(st.text())
def test_any_text(text: str) -> None:
    found = render_name(text)
    assert found is None or found.url.lower().startswith("http")
    render_keys(text)


_PATHS = st.text("abAB/?&=%2F#;:.é~+ '[]@", max_size=30)


@given(st.sampled_from(["example.org", "www.example.org", "example.org:8080", "[::1]"]), _PATHS)
def test_keys_are_those_of_the_records(host: str, path: str) -> None:
    url = f"https://{host}/{path}"
    keys = render_keys(url)
    for kind in RenderKind:
        try:
            expected = urlkey(clean_url(target_uri(kind, url)))
        except UrlError:
            continue
        assert expected in keys


def test_a_kind_is_written_as_its_value() -> None:
    assert f"{FaultKind.REDIRECT_LOOP}" == "redirect_loop"
