"""The language of the bar above captures."""

from typing import Any

import pytest
from jinja2 import Environment

from webapp.replay.routes import TEMPLATE_FUNCTIONS, asked_language, language_answer
from webapp.site.preferences import COOKIE, Preferences, from_cookie, to_cookie

GERMAN = f"nwx_settings={to_cookie(Preferences(language='de'))}"


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"HTTP_ACCEPT_LANGUAGE": "fr-CA,en;q=0.5"}, "fr"),
        ({"HTTP_ACCEPT_LANGUAGE": "fr", "HTTP_COOKIE": GERMAN}, "de"),
        ({"HTTP_ACCEPT_LANGUAGE": "es", "HTTP_COOKIE": "a[=\x01;;"}, "es"),
        ({"HTTP_ACCEPT_LANGUAGE": "tlh"}, "en"),
    ],
)
def test_the_language_is_that_of_the_setting_or_the_browser(
    environ: dict[str, Any], language: str
) -> None:
    assert asked_language(environ) == language


def test_templates_are_translated_and_values_escaped() -> None:
    jinja = Environment(autoescape=True)
    jinja.globals.update(TEMPLATE_FUNCTIONS)
    message = "_('There is no capture of <strong>%(url)s</strong>.', url=url)"
    text = f"{{{{ page_language() }}}}: {{{{ {message} }}}}"
    shown = jinja.from_string(text).render(env={"HTTP_ACCEPT_LANGUAGE": "de"}, url="<b>")
    assert shown == "de: Es gibt keine Aufnahme von <strong>&lt;b&gt;</strong>."
    assert jinja.from_string(text).render(url="x").startswith("en: There is no capture of")


@pytest.mark.parametrize(
    ("query", "language", "back"),
    [
        ("to=de&back=/replay/2010/http://a.test/%3Fq%3D1", "de", "/replay/2010/http://a.test/?q=1"),
        ("to=xx&back=//evil.test/", "", "/replay/"),
        ("to=fr&back=/replay/%0D%0AX:y", "fr", "/replay/%0D%0AX:y"),
    ],
)
def test_a_language_is_chosen_and_leads_back(query: str, language: str, back: str) -> None:
    told = dict[str, str]()
    asked = {"PATH_INFO": "/nwx-language", "QUERY_STRING": query}
    language_answer(
        asked | {"HTTP_COOKIE": f"{COOKIE}=theme=dark"}, lambda _, headers: told.update(headers)
    )
    kept = from_cookie(told["Set-Cookie"].partition(";")[0].partition("=")[2])
    assert (kept.language, kept.theme, told["Location"]) == (language, "dark", back)
