"""Allowed redirect targets of a login."""

import pytest

from webapp.login_page import own_path


@pytest.mark.parametrize(
    "path", ["/", "/search?q=a&b=%2F%2F", "/replay/2014/http://a.org//b", "/ü", "/a.b/..c?d=/../"]
)
def test_paths_of_this_service(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "search",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "http://evil.example/",
        "https:evil.example",
        "javascript:alert(1)",
        "/" + "a" * 5_000,
        "/\u2028/evil.example",
        "/replay/2014mp_/http://evil.example/",
        "/replay/mp_/http://evil.example/",
        "/./replay/2014mp_/http://evil.example/",
        "/a/../replay/2014mp_/http://evil.example/",
        "/%2E%2e/replay/2014mp_/http://evil.example/",
        "/replay/2014/.%2e/2014mp_/http://evil.example/",
    ],
)
def test_others_lead_nowhere(path: str) -> None:
    assert own_path(path) == ""
